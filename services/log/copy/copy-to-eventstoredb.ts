import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { isErasable, UNFINISHED_COPY_STREAM } from '../../../contracts/events/streams.ts'
import type { EventMeta } from '../../../contracts/infra/event.ts'
import { eventAt, type Position, START } from '../../../contracts/infra/position.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { logFile } from '../embedded/embedded-store.ts'
import { requireEnd } from '../embedded/log-end.ts'
import { eventOf, openStoredRows, type StoredRow, type StoredRows } from '../embedded/stored-rows.ts'
import type { EventStoreDbStore } from '../eventstoredb/eventstoredb-store.ts'

type CopiedEvent = ReturnType<typeof eventOf>

export interface CopyOptions {
  /** Folder of the market, with the embedded log. */
  readonly directory: string
  /** Empty, or one into which a copy of this log was begun. */
  readonly store: EventStoreDbStore
  readonly newId: () => string
  readonly now: () => number
  readonly signal: AbortSignal
  readonly onProgress: (events: number) => void
}

const PAGE_ROWS = 500
const GROUP_BYTES = 300_000
/** Appends under way at once, so that they do not wait for the disk of the server in turn. */
const UNDER_WAY = 256
const REMEMBERED = 100_000

/**
 * Copies the embedded log into EventStoreDB, without keys that were erased. Events that are there already are compared,
 * so the same command continues a copy that was interrupted. At the end all is read back and the hashes are compared.
 * @throws ServiceError `store_locked` while a service runs on it; `store_mismatch`, `config_invalid`; of the store
 */
export async function copyToEventStoreDb(options: CopyOptions) {
  const { directory, store } = options
  if (!existsSync(logFile(directory)))
    throw new ServiceError('config_invalid', { message: `there is no log in ${directory}` })
  requireEnd(logFile(directory))
  const lock = takeFileLock(join(directory, 'events.lock'), 'the event store')
  const rows = openStoredRows(logFile(directory))
  try {
    await begin(options)
    const sent = await send(options, rows)
    if ((await hashOfCopy(options)) !== sent.hash) throw mismatch('what was read back is not what was sent')
    await store.erase(UNFINISHED_COPY_STREAM)
    return sent
  } finally {
    rows.close()
    lock.release()
  }
}

/** An event of its own says that the copy is not whole, so that no process starts on it. */
async function begin({ store, newId, now }: CopyOptions): Promise<void> {
  for await (const _ of store.read(UNFINISHED_COPY_STREAM, { limit: 1 })) return
  if ((await store.head()) !== START)
    throw mismatch('it is not empty, and no copy was begun: it is in use, or a copy was finished')
  const meta = { correlationId: 'store copy', actor: 'store copy' }
  const event = { id: newId(), type: 'CopyBegun', schema: 1, data: { at: now() }, meta }
  await store.append(UNFINISHED_COPY_STREAM, [event], { expected: 'no-stream' })
}

async function send({ store, signal, onProgress, ...options }: CopyOptions, rows: StoredRows) {
  const there = copiesIn(store)
  const sender = createSender(store)
  const hash = createHash('sha256')
  let [events, copied, isAtEnd] = [0, 0, false]
  for (const row of keptRows(rows)) {
    signal.throwIfAborted()
    const event = await translated(eventOf(row), (position) => translate(position, rows, sender))
    const line = lineOf(event)
    hash.update(line)
    if (++events % PAGE_ROWS === 0) onProgress(events)
    const found = isAtEnd ? undefined : (await there.next()).value
    isAtEnd = found === undefined
    if (found === undefined) {
      await sender.push(event)
      copied += 1
    } else if (lineOf(found) !== line)
      throw mismatch(
        `it is no copy of ${options.directory}: at ${found.position} stands ${found.type} ${found.id} where ${event.type} ${event.id} should be`,
      )
  }
  await sender.flush()
  const more = isAtEnd ? undefined : (await there.next()).value
  if (more !== undefined)
    throw mismatch(`it holds more than ${options.directory}: a ${more.type} at ${more.position}`)
  return { events, copied, hash: hash.digest('hex') }
}

/** An erased key is left out. */
const isKept = ([, stream, , , , , , data]: StoredRow): boolean => !isErasable(stream) || data.startsWith('{')

function* keptRows(rows: StoredRows): Generator<StoredRow, void, void> {
  const head = rows.head()
  for (let position = 0; position < head; ) {
    const page = rows.everything(position, head, PAGE_ROWS)
    yield* page.filter(isKept)
    position = page.at(-1)?.[0] ?? head
  }
}

async function* copiesIn(store: EventStoreDbStore): AsyncGenerator<CopiedEvent, undefined, void> {
  for await (const event of store.readCopies())
    if (event.stream !== UNFINISHED_COPY_STREAM)
      yield { ...event, data: JSON.stringify(event.data), meta: JSON.stringify(event.meta) }
  return undefined
}

/** Appends neighbours of one stream and instant together, many appends at once; after a failure it sends no more. */
function createSender(store: EventStoreDbStore) {
  const underWay: Promise<Position>[] = []
  const placed = new RecentMap<string, Promise<Position>>(REMEMBERED)
  let [group, bytes]: [CopiedEvent[], number] = [[], 0]
  let failure: { readonly error: unknown } | undefined
  let isOpen = false

  async function sendGroup(): Promise<void> {
    const [[first], last] = [group, group.at(-1)]
    if (first === undefined || last === undefined) return
    if (failure !== undefined) throw failure.error
    const expected = first.revision === 0 ? 'no-stream' : first.revision - 1
    const append = { stream: first.stream, events: group, expected, at: first.at, bytes } as const
    const sending = store.appendCopied(append).then(({ position }) => position)
    sending.catch((error: unknown) => (failure ??= { error }))
    underWay.push(sending)
    placed.set(`${last.stream} ${last.revision}`, sending)
    ;[group, bytes] = [[], 0]
    // The first one opens the call that all others follow in; until then the client keeps no order.
    if (!isOpen || underWay.length >= UNDER_WAY) await underWay.shift()
    isOpen = true
  }
  async function flush(): Promise<void> {
    await sendGroup()
    while (underWay.length > 0) await underWay.shift()
    if (failure !== undefined) throw failure.error
  }

  return {
    async push(event: CopiedEvent): Promise<void> {
      const last = group.at(-1)
      const follows =
        last?.stream === event.stream && last.revision + 1 === event.revision && last.at === event.at
      if (!follows || bytes > GROUP_BYTES) await sendGroup()
      group.push(event)
      bytes += event.data.length + event.meta.length
    },
    flush,
    async positionOf(stream: string, revision: number): Promise<Position> {
      await sendGroup()
      const known = placed.get(`${stream} ${revision}`)
      if (known !== undefined) return known
      await flush()
      for await (const { position } of store.read(stream, { from: revision, limit: 1 })) return position
      throw mismatch(`an event names revision ${revision} of ${stream}, which is not there before it`)
    },
  }
}

type Sender = ReturnType<typeof createSender>

/** The position that an event of the folder has in the copy; of an event that is left out, of the one before it. */
async function translate(position: Position, rows: StoredRows, sender: Sender): Promise<Position> {
  if (position === START) return START
  const sign = position.endsWith('!') ? '!' : ''
  for (let at = Math.min(Number(eventAt(position)), rows.head()); at > 0; at--) {
    const row = rows.at(at)
    if (row !== undefined && isKept(row)) return `${await sender.positionOf(row[1], row[2])}${sign}`
  }
  return START
}

async function hashOfCopy({ store, signal }: CopyOptions): Promise<string> {
  const hash = createHash('sha256')
  for await (const event of copiesIn(store)) {
    signal.throwIfAborted()
    hash.update(lineOf(event))
  }
  return hash.digest('hex')
}

/** The parts of an event that are the same in every store; the order of the members of its meta may differ. */
const lineOf = ({ stream, revision, type, schema, id, at, data, meta }: CopiedEvent): string => {
  const { correlationId, causationId = null, actor, traceparent = null } = JSON.parse(meta) as EventMeta
  const origin = JSON.stringify([correlationId, causationId, actor, traceparent])
  return `${stream}\t${revision}\t${type}\t${schema}\t${id}\t${at}\t${data}\t${origin}\n`
}

const mismatch = (why: string): ServiceError =>
  new ServiceError('store_mismatch', {
    message: `EventStoreDB cannot take the copy: ${why}`,
    nextStep: 'Copy into an empty database.',
  })

/** Streams whose events name positions of the log, and the members that hold them. */
const WITH_POSITIONS = ['delivery-', 'subscription-'] as const
export const POSITION_MEMBERS: ReadonlySet<string> = new Set(['after', 'position', 'startAfter'])

/** An event that names positions of another store. The manifest of a sealed day stays as it is: its hash was published. */
async function translated(
  event: CopiedEvent,
  positionOf: (position: Position) => Promise<Position>,
): Promise<CopiedEvent> {
  if (!WITH_POSITIONS.some((prefix) => event.stream.startsWith(prefix))) return event
  const positions = new Map<string, Position>()
  const isPosition = (name: string, value: unknown): value is string =>
    POSITION_MEMBERS.has(name) && typeof value === 'string'
  const data: unknown = JSON.parse(event.data, (name, value: unknown) => {
    if (isPosition(name, value)) positions.set(value, value)
    return value
  })
  for (const position of positions.keys()) positions.set(position, await positionOf(position))
  const inOther = (name: string, value: unknown) => (isPosition(name, value) ? positions.get(value) : value)
  return { ...event, data: JSON.stringify(data, inOther) }
}
