import { createHash } from 'node:crypto'
import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { EventMeta, EventPlace } from '../../../contracts/event.ts'
import { eventAt, type Position, START } from '../../../contracts/position.ts'
import type { EncodedEvent } from '../../log/encode-append.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { translated } from './translate-positions.ts'

/** An event whose data and meta are JSON, as the log has them: a copy has no need of what they hold. */
export interface CopiedEvent extends EncodedEvent, EventPlace {
  /** When it was appended to the first of these logs, ISO 8601. */
  readonly at: string
}

/** A log that is copied. */
export interface CopySource {
  /** For people, without credentials. */
  readonly description: string
  /** All there is at the moment, with the keys of subjects that were not erased, in the order of the log. */
  events(): AsyncIterable<CopiedEvent>
  /** The newest of these events at a position or before it; undefined for none. */
  at(position: Position): Promise<Pick<EventPlace, 'stream' | 'revision'> | undefined>
  /** Whether nobody can have appended since the events were given. */
  isAtRest(): Promise<boolean>
}

/** A log that is copied into, and used by nobody until it is finished. */
export interface CopyTarget {
  readonly description: string
  /** Makes sure that nobody takes it for a whole log. @throws ServiceError `store_mismatch` for one that was finished */
  begin(): Promise<void>
  events(): AsyncIterable<CopiedEvent>
  /** Neighbours in one stream, appended at the same time; durable at {@link CopyTarget.flush} at the latest. */
  append(events: readonly CopiedEvent[]): Promise<void>
  flush(): Promise<void>
  positionOf(stream: string, revision: number): Promise<Position | undefined>
  /** From now on it is a log like any other. */
  finish(): Promise<void>
}

export interface CopyOptions {
  readonly source: CopySource
  readonly target: CopyTarget
  readonly signal: AbortSignal
  readonly onProgress: (progress: { readonly events: number; readonly doing: string }) => void
}

export interface CopyResult {
  readonly events: number
  /** Events that this run has copied. */
  readonly copied: number
  /** SHA-256 over stream, revision, type, schema, id, time, data and meta of every event, in order; the same of both logs. */
  readonly hash: string
  /** False where somebody still writes to the source: the target is not for use yet. */
  readonly isFinished: boolean
}

const GROUP_EVENTS = 100
const GROUP_BYTES = 300_000
const SHOW_EVERY = 500

/**
 * Copies a log into a store of another kind. What is there is compared, the rest appended, so the next run continues one
 * that ended; in the end everything is read back. Positions in events are translated. @throws ServiceError
 * `store_mismatch`
 */
export async function copyLog(options: CopyOptions): Promise<CopyResult> {
  const { target, source, signal } = options
  await target.begin()
  const copied = await walk(options, 'copied')
  await target.flush()
  signal.throwIfAborted()
  const isSame = (await hashOf(options)) === copied.hash
  // Where the hashes differ, both logs are read side by side: that names the event, or adds what was written meanwhile.
  const verified = isSame ? { ...copied, copied: 0 } : await walk(options, 'verified')
  assert(verified.events >= copied.events, 'a copy verifies all that it copied', verified.events)
  const isFinished = verified.copied === 0 && (await source.isAtRest())
  await target.flush()
  if (isFinished) await target.finish()
  return {
    events: verified.events,
    copied: copied.copied + verified.copied,
    hash: verified.hash,
    isFinished,
  }
}

/** Hash of the target as it is read back; the source, whose hash is known from copying it, is not read once more. */
async function hashOf({ target, signal, onProgress }: CopyOptions): Promise<string> {
  const hash = createHash('sha256')
  let events = 0
  for await (const event of target.events()) {
    signal.throwIfAborted()
    hash.update(lineOf(event))
    events += 1
    if (events % SHOW_EVERY === 0) onProgress({ events, doing: 'verified' })
  }
  return hash.digest('hex')
}

/** Goes through both logs side by side; what the target lacks at its end is appended. */
async function walk({ source, target, signal, onProgress }: CopyOptions, doing: string) {
  const there = target.events()[Symbol.asyncIterator]()
  const positions = createPositions(source, target)
  const hash = createHash('sha256')
  let [events, copied] = [0, 0]
  let group: CopiedEvent[] = []
  let bytes = 0
  let isAtEnd = false

  async function send(): Promise<void> {
    if (group.length === 0) return
    assert(group.length <= GROUP_EVENTS, 'a copy appends groups within their limit', group.length)
    assert(
      group.every(({ stream }) => stream === group[0]?.stream),
      'a copy appends to one stream at a time',
    )
    await target.append(group)
    copied += group.length
    group = []
    bytes = 0
  }

  for await (const original of source.events()) {
    signal.throwIfAborted()
    const event = await translated(original, async (position) => {
      // What it names may be among those that wait.
      await send()
      return positions.translate(position)
    })
    const line = lineOf(event)
    hash.update(line)
    events += 1
    if (events % SHOW_EVERY === 0) onProgress({ events, doing })
    const found = isAtEnd ? undefined : await there.next()
    if (found !== undefined && found.done !== true) {
      requireSame(event, line, found.value, target)
      positions.learn(original.position, found.value.position)
      continue
    }
    isAtEnd = true
    if (!follows(group.at(-1), event) || group.length >= GROUP_EVENTS || bytes > GROUP_BYTES) await send()
    group.push(event)
    bytes += line.length
  }
  await send()
  const more = isAtEnd ? undefined : await there.next()
  if (more !== undefined && more.done !== true) throw foreignError(target, more.value)
  return { events, copied, hash: hash.digest('hex') }
}

const follows = (last: CopiedEvent | undefined, next: CopiedEvent): boolean =>
  last !== undefined &&
  last.stream === next.stream &&
  last.revision + 1 === next.revision &&
  last.at === next.at

/** The parts of an event that are the same in every store; the order of the members of its meta may differ. */
const lineOf = ({ stream, revision, type, schema, id, at, data, meta }: CopiedEvent): string => {
  const { correlationId, causationId = null, actor, traceparent = null } = JSON.parse(meta) as EventMeta
  const origin = JSON.stringify([correlationId, causationId, actor, traceparent])
  return `${stream}\t${revision}\t${type}\t${schema}\t${id}\t${at}\t${data}\t${origin}\n`
}

function requireSame(
  event: CopiedEvent,
  line: string,
  found: CopiedEvent,
  { description }: CopyTarget,
): void {
  if (lineOf(found) === line) return
  throw new ServiceError('store_mismatch', {
    message: `${description} is no copy of this log: at ${found.position} stands ${found.type} ${found.id} (revision ${found.revision} of ${found.stream}) where ${event.type} ${event.id} (revision ${event.revision} of ${event.stream}) should be`,
    nextStep: 'Copy into an empty store.',
  })
}

const foreignError = ({ description }: CopyTarget, { type, position }: CopiedEvent): ServiceError =>
  new ServiceError('store_mismatch', {
    message: `${description} holds more than this log: a ${type} at ${position}, behind the last event of the source`,
    nextStep: 'Copy into an empty store.',
  })

const REMEMBERED = 100_000

/** Positions of the target for those of the source. */
function createPositions(source: CopySource, target: CopyTarget) {
  const known = new RecentMap<Position, Position>(REMEMBERED)
  return {
    learn(from: Position, to: Position): void {
      known.set(from, to)
    },
    async translate(position: Position): Promise<Position> {
      if (position === START) return START
      const isInFront = position.endsWith('!')
      const remembered = known.get(eventAt(position))
      if (remembered !== undefined) return isInFront ? `${remembered}!` : remembered
      const place = await source.at(eventAt(position))
      if (place === undefined) return START
      const found = await target.positionOf(place.stream, place.revision)
      if (found !== undefined) return isInFront ? `${found}!` : found
      throw new ServiceError('event_unreadable', {
        message: `an event names position ${position} of ${source.description}, which is not in ${target.description} before it`,
      })
    },
  }
}
