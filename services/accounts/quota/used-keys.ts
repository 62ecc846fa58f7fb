import { ServiceError } from '../../../contracts/errors/errors.ts'
import { comparePositions, later, type Position, START } from '../../../contracts/infra/position.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type DebitPlace, debitKey, debits } from '../../../projections/index.ts'
import type { Projector } from '../../log/projector/projector.ts'
import type { Clock } from '../../runtime/async/clock.ts'

/** The read model of idempotency keys that were used. */
export interface DebitIndex {
  find(payerId: string, idempotencyHash: string): DebitPlace | undefined
  /** Up to where it holds the log. */
  position(): Position
}

export interface UsedKeysOptions extends Pick<Clock, 'now' | 'sleep'> {
  readonly index: DebitIndex
  /** Position of the newest event of the log. */
  readonly head: () => Promise<Position>
  readonly signal: AbortSignal
}

export type UsedKeys = ReturnType<typeof createUsedKeys>

const LOOK_EVERY_MS = 2

/**
 * Which idempotency keys a payer has used: the latest in memory, all others in the read model. `memory` has every event
 * since its beginning, so the read model answers only for earlier ones: it is asked once it has passed that position.
 */
export function createUsedKeys(payerId: string, options: UsedKeysOptions) {
  const { index, head, now, sleep, signal } = options
  const memory = new Map<string, DebitPlace & { readonly position: Position }>()
  const unused = new Set<string>()
  /** The read model has to have come so far; undefined while nobody has asked where the log ends. */
  let required: Position | undefined
  /** How far it had come when it was last asked, which costs more than the rest. */
  let applied: Position = START
  let generation = 0

  const isCaughtUp = (): boolean => required !== undefined && comparePositions(applied, required) >= 0

  /** Waits until the read model holds what memory does not; what is learned meanwhile may raise the floor. */
  async function catchUp(): Promise<void> {
    const began = now()
    while (!isCaughtUp()) {
      if (required === undefined) await findRequired()
      applied = index.position()
      if (isCaughtUp()) return
      if (signal.aborted || now() - began >= LIMITS.debitIndexWaitMs) throw indexBehindError()
      await sleep(LOOK_EVERY_MS, signal)
    }
  }

  /** The end of the log, unless events were missed while it was asked for: it may be too early an end then. */
  async function findRequired(): Promise<void> {
    const asked = generation
    const end = await head()
    if (asked === generation) required = required === undefined ? end : later(required, end)
  }

  /** Many at a time: finding the first of a map takes the longer the more were deleted in front of it. */
  function forgetOldest(): void {
    for (const [hash, { position }] of memory) {
      if (memory.size <= LIMITS.idempotencyKeysKept) return
      memory.delete(hash)
      if (required !== undefined) required = later(required, position)
    }
  }

  return {
    /** Whether a key is known not to have been used before what memory holds. */
    isUnused: (hash: string) => unused.has(hash),
    add(hash: string, place: DebitPlace, position: Position): void {
      unused.delete(hash)
      memory.set(hash, { ...place, position })
      if (memory.size > 2 * LIMITS.idempotencyKeysKept) forgetOldest()
    },
    /**
     * Finds the use of a key; undefined for a new one, for which `isUnused` holds from then on.
     *
     * @throws ServiceError `store_unavailable` where the read model does not reach the log in time
     */
    async lookUp(hash: string): Promise<DebitPlace | undefined> {
      const known = memory.get(hash)
      if (known !== undefined || unused.has(hash)) return known
      if (!isCaughtUp()) {
        const early = index.find(payerId, hash)
        if (early !== undefined) return early
      }
      // Again where events were missed between its end and here.
      while (!isCaughtUp()) await catchUp()
      const place = memory.get(hash) ?? index.find(payerId, hash)
      if (place === undefined) {
        // Those whose call was refused in the end are forgotten here, and looked up again if they come back.
        if (unused.size >= LIMITS.idempotencyKeysKept) unused.clear()
        unused.add(hash)
      }
      return place
    },
    /** Events may have been appended that memory has not seen: all has to be looked up again. */
    missedSome(): void {
      generation += 1
      required = undefined
      unused.clear()
    },
  }
}

const indexBehindError = (): ServiceError =>
  new ServiceError('store_unavailable', {
    message: `Whether this Idempotency-Key was used before cannot be told yet: its index has not reached the end of the log within ${LIMITS.debitIndexWaitMs} ms. Nothing was charged`,
    isForCallers: true,
  })

/**
 * The index of idempotency keys over this process' read models.
 *
 * @param projector one that runs the projection `debits`
 */
export function createDebitIndex(projector: Pick<Projector, 'reader'>): DebitIndex {
  const reader = projector.reader(debits)
  const position = (): string => reader.health().position
  let hasRows = false
  return {
    position,
    find(payerId, idempotencyHash) {
      // A projector that has just begun has no rows to be asked for.
      hasRows ||= position() !== START
      return hasRows ? (reader.get(debitKey(payerId, idempotencyHash)) as DebitPlace | undefined) : undefined
    },
  }
}
