import { assert } from '../../../contracts/assert.ts'
import { isServiceError, reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { NewEvent, RecordedEvent, Revision } from '../../../contracts/event.ts'
import { EVENT_CATALOGUE, type EventType } from '../../../contracts/event-catalogue.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { comparePositions, earlier, inFrontOf, later, type Position } from '../../../contracts/position.ts'
import { REVOCATIONS } from '../../../contracts/revocations.ts'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import type { AppendPath } from '../../log/append-until-known.ts'
import type { EventStore } from '../../log/event-store.ts'
import { executeCommand } from '../../log/execute-command.ts'
import { isStillThere } from '../../log/projector/rows-of-this-log.ts'
import { mapConcurrently } from '../../runtime/async/map-concurrently.ts'
import { createWakeSignal, waitAtMost } from '../../runtime/async/wake-signal.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { type KeptList, keptList } from './kept-list.ts'

/** Beside the log, in the folder of the market. */
export const REVOCATIONS_FILE = 'revocations'

const TYPES: ReadonlySet<string> = new Set(REVOCATIONS)
const FIELDS = 9
/** The first line: from where on a log was followed in which nothing had been revoked since. */
const BEGUN = 'followed after'
/** A remark, which former releases read past: everything up to this event of the log is in the list. */
const LISTED_UP_TO = '# listed up to'
/** Time until the first such remark; each waits twice as long as the one before it, at most an hour. */
const FIRST_REMARK_MS = 10_000

/** A list of revocations: events as backups write them, a line each. */
export const revocationList = (file: string): KeptList => keptList(file, isLine)

/** Whether an event of a backup is one that belongs in the list. */
export const isRevocation = (type: string): boolean => TYPES.has(type)

function isLine(line: string): boolean {
  const fields = line.split('\t')
  if (fields[0] === BEGUN) return fields.length === 2
  const [, stream = '', , type = ''] = fields
  if (fields.length !== FIELDS || !line.endsWith('}') || !isRevocation(type)) return false
  const [prefix = ''] = EVENT_CATALOGUE[type as EventType].stream.split('{')
  return stream.startsWith(prefix)
}

/** Adds lines to a list that are not there yet; durable when it returns. */
export function rememberRevoked(file: string, lines: readonly string[]): void {
  const list = revocationList(file)
  const known = new Set(list.read())
  list.add([...new Set(lines)].filter((line) => !known.has(line) && !line.startsWith(BEGUN)))
}

interface Revocation {
  readonly stream: string
  readonly revision: Revision
  readonly id: string
  readonly at: string
  readonly event: () => NewEvent
}

function revocationIn(line: string): Revocation[] {
  const [, stream = '', revision, type = '', schema, id = '', at = '', data = '', meta = ''] =
    line.split('\t')
  const event = (): NewEvent => ({
    id,
    type,
    schema: Number(schema),
    data: JSON.parse(data) as JsonObject,
    meta: JSON.parse(meta) as NewEvent['meta'],
  })
  return stream === '' || type === '' ? [] : [{ stream, revision: Number(revision), id, at, event }]
}

const lineOf = ({ position, stream, revision, type, schema, id, at, data, meta }: RecordedEvent): string =>
  [position, stream, revision, type, schema, id, at, JSON.stringify(data), JSON.stringify(meta)].join('\t')

export interface KeepRevocationsOptions extends AppendPath {
  readonly store: EventStore
  readonly file: string
  /** Told of what the operator should know. */
  readonly report: (message: string, details: Readonly<Record<string, unknown>>) => void
}

const LISTED_WAIT_MS = 5_000
const AGAIN_MS = 1_000
/** Clocks of processes may differ by as much as it takes to revoke so many things. */
const NEWEST_LINES = 32
const READS_AT_ONCE = 16
const IDS_KEPT = 1_024

/**
 * Keeps what was revoked in a list beside the log, and revokes it again in a log that was restored without it. It
 * follows the log, and a revocation is answered only once the list holds it. @returns the store to append through
 * @throws ServiceError `config_invalid` for a damaged list; of the store
 */
export async function keepRevocations(options: KeepRevocationsOptions): Promise<EventStore> {
  const { store, sleep, signal, now } = options
  let reached = await giveAgain(options)
  const listed = new RecentMap<string, true>(IDS_KEPT)
  const wake = createWakeSignal()
  const onReached = ({ position, id }: Followed): void => {
    if (id !== undefined) listed.set(id, true)
    assert(
      comparePositions(position, reached) >= 0,
      'the list of revocations follows the log forwards',
      position,
    )
    reached = position
    wake.notify()
  }
  follow(options, reached, onReached).catch((error: unknown) =>
    options.report('revocations are not listed any more, and are answered with an error', {
      reason: reasonOf(error),
    }),
  )

  async function requireListed(id: string, position: Position): Promise<void> {
    const began = now()
    for (;;) {
      const seen = wake.count
      if (listed.has(id) || comparePositions(reached, position) >= 0) return
      const left = LISTED_WAIT_MS - Math.max(0, now() - began)
      if (signal.aborted || left <= 0) {
        throw new ServiceError('append_unknown', {
          message: `what was revoked is in the log, and not yet in the list beside it (${options.file})`,
        })
      }
      await waitAtMost(left, wake, seen, { sleep, signal })
    }
  }

  return {
    ...store,
    async append(stream, events, appendOptions) {
      const result = await store.append(stream, events, appendOptions)
      const last = events.findLast(({ type }) => isRevocation(type))
      if (last !== undefined) await requireListed(last.id, result.position)
      return result
    },
  }
}

/** @returns the position behind which the log may hold what the list does not */
async function giveAgain(options: KeepRevocationsOptions): Promise<Position> {
  const { store, file, report } = options
  const head = await store.head()
  const lines = readLines(file)
  const [begun = head] = lines.flatMap((line) => (line.startsWith(BEGUN) ? line.split('\t').slice(1) : []))
  if (lines.length === 0) revocationList(file).add([`${BEGUN}\t${head}`])
  // A restore may have put several lists together.
  const kept = lines
    .flatMap(revocationIn)
    .toSorted((one, other) => (one.at < other.at ? -1 : Number(one.at > other.at)))
  const placesOf = (some: readonly Revocation[]) =>
    mapConcurrently(some, READS_AT_ONCE, (one) => placeIn(store, one))
  let places = await placesOf(kept.slice(-NEWEST_LINES))
  if (places.includes(undefined)) {
    // The log was set back: what it holds of the list is a beginning of it, and the rest is looked for one by one.
    places = await placesOf(kept)
    const given = await appendMissing(
      options,
      kept.filter((_, index) => places[index] === undefined),
    )
    if (given > 0)
      report('the log was set back: what had been revoked since is revoked again', { events: given })
  }
  const [, position, id] = revocationList(file).remark(LISTED_UP_TO)?.split('\t') ?? []
  // Another log than the one that was followed has another event there.
  const isOfThisLog =
    position !== undefined && id !== undefined && (await isStillThere(store, { position, id }))
  const listed = [...places, isOfThisLog ? position : undefined].filter((place) => place !== undefined)
  return listed.length === 0 ? earlier(begun, head) : listed.reduce(later)
}

function readLines(file: string): readonly string[] {
  try {
    return revocationList(file).read()
  } catch (error) {
    throw new ServiceError('config_invalid', {
      message: `the list of what was revoked, ${file}, cannot be used: ${reasonOf(error)}. Put back the copy that you keep of it; without the list, what was revoked after the newest backup may hold again`,
      cause: error,
    })
  }
}

/** The position of a revocation in the log; undefined where its place holds something else, or nothing. */
async function placeIn(
  store: Pick<EventStore, 'read'>,
  { stream, revision, id }: Revocation,
): Promise<Position | undefined> {
  // EventStoreDB begins at the end where there is nothing from here on.
  for await (const event of store.read(stream, { from: revision, limit: 1 }))
    return event.revision === revision && event.id === id ? event.position : undefined
  return undefined
}

/**
 * Appends with the same ids, so that processes that do this at once do it once; never begins a stream. @returns how many
 * were missing
 */
async function appendMissing(
  options: KeepRevocationsOptions,
  missing: readonly Revocation[],
): Promise<number> {
  let given = 0
  for (const [stream, ofStream] of Map.groupBy(missing, (one) => one.stream)) {
    const { result } = await executeCommand<ReadonlySet<string>, number>(options, {
      stream,
      async load() {
        const ids = new Set<string>()
        let revision: Revision | 'no-stream' = 'no-stream'
        for await (const event of options.store.read(stream)) {
          ids.add(event.id)
          revision = event.revision
        }
        return { state: ids, revision }
      },
      decide(ids) {
        const absent = new Map(ofStream.filter(({ id }) => !ids.has(id)).map((one) => [one.id, one.event]))
        const events = ids.size === 0 ? [] : [...absent.values()].map((event) => event())
        return { events, result: events.length }
      },
      unknown: { what: 'what had been revoked is revoked again', again: 'Start again.' },
    })
    given += result
  }
  return given
}

type Followed = { readonly position: Position; readonly id?: string }

/** Adds to the list what is revoked from now on, until the signal. */
async function follow(
  { store, file, now, sleep, signal, report }: KeepRevocationsOptions,
  after: Position,
  onReached: (item: Followed) => void,
): Promise<void> {
  const list = revocationList(file)
  let [remarkAt, waitMs] = [now() + FIRST_REMARK_MS, FIRST_REMARK_MS]
  for await (const item of store.subscribe({ after, filter: { types: [...REVOCATIONS] }, signal })) {
    const lines = item.kind === 'event' ? [lineOf(item.event)] : []
    if (item.kind !== 'event' && now() >= remarkAt) {
      lines.push(...(await remarkOf(store, item.position)))
      waitMs = Math.min(2 * waitMs, HOUR_MS)
      remarkAt = now() + waitMs
    }
    while (lines.length > 0 && !signal.aborted) {
      try {
        list.add(lines)
        break
      } catch (error) {
        report('a revocation cannot be added to its list, and is not answered until it is', {
          file,
          reason: reasonOf(error),
        })
        await sleep(AGAIN_MS, signal)
      }
    }
    if (signal.aborted) return
    onReached(item.kind === 'event' ? { position: item.event.position, id: item.event.id } : item)
  }
}

/** @returns no remark where the log cannot be read just now, or has no event at the position: a later one does as well */
async function remarkOf(store: Pick<EventStore, 'readAll'>, position: Position): Promise<string[]> {
  const remarks: string[] = []
  try {
    for await (const event of store.readAll({ after: inFrontOf(position), limit: 1 }))
      if (event.position === position) remarks.push([LISTED_UP_TO, position, event.id].join('\t'))
  } catch (error) {
    if (!isServiceError(error)) throw error
  }
  return remarks
}
