/** A share of work that one process has at a time. */
export interface Lease {
  readonly shard: number
  /** Rises whenever the shard changes hands: the holder of a lower one has lost it. */
  readonly token: number
}

/** Called one at a time for each shard. */
export interface LeaseHandlers {
  readonly gained: (lease: Lease) => Promise<void>
  /** Must have stopped the work when it resolves: nobody else has the shard before. */
  readonly lost: (lease: Lease) => Promise<void>
}

interface Part {
  readonly lease: Lease
  state: 'beginning' | 'working' | 'stopping' | 'stopped'
}

/** This process's work on its shards: begun and ended for each in turn, and never two at once for one shard. */
export type LeasedWork = ReturnType<typeof createLeasedWork>

export function createLeasedWork(handlers: LeaseHandlers, report: (error: unknown) => void) {
  const parts = new Map<number, Part>()
  const tails = new Map<number, Promise<void>>()
  /** Asked for twice with every webhook; made anew after a start and a stop. */
  let held: readonly Lease[] | undefined

  function serially(shard: number, call: () => Promise<void>): void {
    tails.set(shard, (tails.get(shard) ?? Promise.resolve()).then(call))
  }

  function stop(shard: number): void {
    const part = parts.get(shard)
    if (part === undefined || !isHeld(part)) return
    part.state = 'stopping'
    held = undefined
    serially(shard, async () => {
      await handlers.lost(part.lease).catch(report)
      part.state = 'stopped'
    })
  }

  return {
    start(lease: Lease): void {
      const part: Part = { lease, state: 'beginning' }
      parts.set(lease.shard, part)
      held = undefined
      serially(lease.shard, async () => {
        try {
          await handlers.gained(lease)
          if (part.state === 'beginning') part.state = 'working'
        } catch (error) {
          // Work that could not begin is given up, so that another process, or this one later, tries it anew.
          report(error)
          stop(lease.shard)
        }
      })
    },
    stop,
    stopAll() {
      for (const shard of parts.keys()) stop(shard)
    },
    /** Ends the work on every shard that is not among these, by shard and token. */
    keepOnly(shards: ReadonlyMap<number, number>): void {
      for (const [shard, { lease }] of parts) if (shards.get(shard) !== lease.token) stop(shard)
    },
    /** Shards on which the work has ended, and which were not started again. */
    stopped: () => new Set([...parts].filter(([, { state }]) => state === 'stopped').map(([shard]) => shard)),
    /** Forgets shards that were given back. */
    forget(shards: ReadonlySet<number>): void {
      for (const shard of shards) if (parts.get(shard)?.state === 'stopped') parts.delete(shard)
    },
    held: () => (held ??= [...parts.values()].filter(isHeld).map(({ lease }) => lease)),
    /** Whether this process does, did or stops something on a shard; of others it only has the name in the log. */
    isKnown: (shard: number): boolean => parts.has(shard),
    /** Resolves when all that was asked to end has ended. */
    async settled() {
      // A turn may add another one: work that would not begin is stopped.
      while ([...parts.values()].some(({ state }) => state === 'stopping')) await Promise.all(tails.values())
    },
  }
}

const isHeld = ({ state }: Part): boolean => state === 'beginning' || state === 'working'
