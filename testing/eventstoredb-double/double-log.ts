/** An event as the double holds it: bytes stay bytes. */
export interface LoggedEvent {
  readonly id: string
  readonly stream: string
  /** `Infinity` for the mark of a tombstone. */
  readonly revision: number
  /** Commit and prepare position, which are the same. Rising, not dense. */
  readonly position: bigint
  readonly createdMs: number
  /** `type` and `content-type`. */
  readonly headers: ReadonlyMap<string, string>
  readonly data: Uint8Array
  readonly metadata: Uint8Array
}

export type ProposedEvent = Pick<LoggedEvent, 'id' | 'headers' | 'data' | 'metadata'>

export type Expectation = 'any' | 'no-stream' | 'stream-exists' | number

export type AppendOutcome =
  /** `isHidden` where it was written earlier and is deleted by now. */
  | { readonly kind: 'written'; readonly last: LoggedEvent; readonly isHidden?: boolean }
  /** `actual` is -1 for a missing stream. */
  | { readonly kind: 'wrong-revision'; readonly actual: number }
  | { readonly kind: 'tombstoned' }
  | { readonly kind: 'too-large' }

export interface DoubleLog {
  readonly events: readonly LoggedEvent[]
  /** Does as a server does, which never compares content. */
  append(stream: string, proposed: readonly ProposedEvent[], expected: Expectation): AppendOutcome
  /** Events that a read shows, oldest first: not those cut off by `$tb`, `$maxCount` or `$maxAge`. */
  visible(stream: string): readonly LoggedEvent[]
  isTombstoned(stream: string): boolean
  /** Hides what is there; revisions go on counting. */
  softDelete(stream: string): void
  /** Final: no read, no append. False where it is already. */
  tombstone(stream: string): boolean
  /** Whether a record begins at a position: others are none to read from. */
  isPlace(position: bigint): boolean
  /**
   * From now on followers confirm nothing: what is written has its place, which expected revisions count, and no read
   * or subscription shows it.
   */
  holdReplication(): void
  /** Followers have caught up: everything shows. */
  replicate(): void
  /** Drops the memory of recent ids, as a restart does. */
  forgetRecentIds(): void
  /** Calls back after each append, until the returned function is called. */
  onAppend(listener: () => void): () => void
}

const FIRST_POSITION = 100n
/** Largest append. */
export const MOST_BYTES = 1_048_576
/** Bytes of an event beside its content. */
const HEADER_BYTES = 64

interface StreamRules {
  readonly $tb?: number
  readonly $maxCount?: number
  /** Seconds. */
  readonly $maxAge?: number
}

export function createDoubleLog(now: () => number): DoubleLog {
  const events: LoggedEvent[] = []
  const streams = new Map<string, LoggedEvent[]>()
  const tombstoned = new Set<string>()
  const recentIds = new Map<string, LoggedEvent>()
  const listeners = new Set<() => void>()
  /** Positions at which a record begins or began. */
  const places = new Set<bigint>()
  let nextPosition = FIRST_POSITION
  /** Position from which on nothing is replicated. */
  let heldFrom: bigint | undefined
  const isReplicated = ({ position }: LoggedEvent): boolean => heldFrom === undefined || position < heldFrom

  const eventsOf = (stream: string): LoggedEvent[] => streams.get(stream) ?? []
  const headOf = (stream: string): number => eventsOf(stream).length - 1

  function rulesOf(stream: string): StreamRules {
    const last = eventsOf(`$$${stream}`).at(-1)
    return last === undefined ? {} : (JSON.parse(Buffer.from(last.data).toString('utf8')) as StreamRules)
  }

  function setRules(stream: string, rules: StreamRules): void {
    const data = Buffer.from(JSON.stringify({ ...rulesOf(stream), ...rules }))
    const headers = new Map([
      ['type', '$metadata'],
      ['content-type', 'application/json'],
    ])
    write(`$$${stream}`, [{ id: crypto.randomUUID(), headers, data, metadata: new Uint8Array() }])
  }

  function markTombstone(stream: string): void {
    const headers = new Map([
      ['type', '$streamDeleted'],
      ['content-type', 'application/json'],
    ])
    const data = Buffer.from('{}')
    const metadata = new Uint8Array()
    events.push({
      id: crypto.randomUUID(),
      stream,
      revision: Infinity,
      position: nextPosition,
      createdMs: now(),
      headers,
      data,
      metadata,
    })
    places.add(nextPosition)
    nextPosition += BigInt(HEADER_BYTES + data.length)
    for (const listener of listeners) listener()
  }

  function visible(stream: string): readonly LoggedEvent[] {
    const { $tb = 0, $maxCount = Infinity, $maxAge = Infinity } = rulesOf(stream)
    const all = eventsOf(stream)
    const from = Math.max($tb, all.length - $maxCount)
    const isKept = ({ revision, createdMs }: LoggedEvent): boolean =>
      revision >= from && now() - createdMs <= $maxAge * 1_000
    return all.filter((event) => isReplicated(event) && isKept(event))
  }

  function write(stream: string, proposed: readonly ProposedEvent[]): LoggedEvent {
    const own = eventsOf(stream)
    streams.set(stream, own)
    for (const event of proposed) {
      const logged = { ...event, stream, revision: own.length, position: nextPosition, createdMs: now() }
      places.add(nextPosition)
      nextPosition += BigInt(HEADER_BYTES + event.data.length + event.metadata.length)
      own.push(logged)
      events.push(logged)
      recentIds.set(event.id, logged)
    }
    for (const listener of listeners) listener()
    return events.at(-1) as LoggedEvent
  }

  /** The events that make this append a repeat, or undefined where one of its ids is not in its place. */
  function repeated(
    stream: string,
    proposed: readonly ProposedEvent[],
    expected: Expectation,
  ): LoggedEvent | undefined {
    const place = typeof expected === 'number' ? expected + 1 : expected === 'no-stream' ? 0 : undefined
    const first = place ?? recentIds.get(proposed[0]?.id ?? '')?.revision
    if (first === undefined) return undefined
    const there = eventsOf(stream).slice(first, first + proposed.length)
    const isRepeat = proposed.every(({ id }, index) => there[index]?.id === id)
    return isRepeat ? there.at(-1) : undefined
  }

  function isMet(stream: string, expected: Expectation): boolean {
    const isThere = visible(stream).length > 0 || !eventsOf(stream).every(isReplicated)
    if (expected === 'any') return true
    if (expected === 'no-stream') return !isThere
    if (expected === 'stream-exists') return isThere
    return headOf(stream) === expected
  }

  return {
    get events() {
      return heldFrom === undefined ? events : events.filter(isReplicated)
    },
    append(stream, proposed, expected) {
      const bytes = proposed.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0)
      if (bytes > MOST_BYTES) return { kind: 'too-large' }
      if (tombstoned.has(stream)) return { kind: 'tombstoned' }
      const repeat = repeated(stream, proposed, expected)
      if (repeat !== undefined) {
        return { kind: 'written', last: repeat, isHidden: repeat.revision < (rulesOf(stream).$tb ?? 0) }
      }
      // An append is known by the first of its ids alone.
      const isKnown = typeof expected === 'string' && recentIds.get(proposed[0]?.id ?? '')?.stream === stream
      if (isKnown || !isMet(stream, expected)) return { kind: 'wrong-revision', actual: headOf(stream) }
      const begins = headOf(stream) + 1
      const last = write(stream, proposed)
      if (rulesOf(stream).$tb === Number.MAX_SAFE_INTEGER) setRules(stream, { $tb: begins })
      return { kind: 'written', last }
    },
    visible,
    isTombstoned: (stream) => tombstoned.has(stream),
    softDelete: (stream) => setRules(stream, { $tb: Number.MAX_SAFE_INTEGER }),
    tombstone(stream) {
      const isNew = !tombstoned.has(stream)
      tombstoned.add(stream)
      if (isNew) markTombstone(stream)
      return isNew
    },
    isPlace: (position) => position < FIRST_POSITION || position >= nextPosition || places.has(position),
    holdReplication() {
      heldFrom ??= nextPosition
    },
    replicate() {
      heldFrom = undefined
      for (const listener of listeners) listener()
    },
    forgetRecentIds: () => recentIds.clear(),
    onAppend(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
