import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { RecordedEvent } from '../../../contracts/event.ts'
import {
  createMemoryLog,
  type MemoryLog,
  openMemoryStore,
} from '../../../testing/memory-store/memory-store.ts'
import { LOOKS_AGAIN } from '../../log/append-until-known.ts'
import type { EventStore } from '../../log/event-store.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { uuidV7 } from '../../runtime/ids/uuid.ts'
import { keepRevocations, REVOCATIONS_FILE } from './keep-revocations.ts'

const ACCOUNT = 'account-0d0f4a52-6a5c-4b8e-9d53-1f2c3a4b5c6d'
const meta = { correlationId: 'a test', actor: 'test' }
let folder: string
let ending: AbortController
let clock: number
let reports: string[]
let made = 0

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'revoked-'))
  ending = new AbortController()
  clock = 0
  reports = []
})
afterEach(() => {
  ending.abort()
  rmSync(folder, { recursive: true, force: true })
})

const file = (name = ''): string => join(folder, name, REVOCATIONS_FILE)
const lines = (name = ''): string[] =>
  existsSync(file(name))
    ? readFileSync(file(name), 'utf8')
        .split('\n')
        .filter((line) => line.includes('KeyRevoked'))
    : []
const open = (log: MemoryLog): EventStore => openMemoryStore({ now: () => 0, log })

function keep(store: EventStore, name = ''): Promise<EventStore> {
  return keepRevocations({
    store,
    file: file(name),
    policy: LOOKS_AGAIN,
    now: () => clock,
    // Time goes by where somebody waits.
    async sleep(milliseconds, signal) {
      clock += milliseconds
      await sleep(1, signal)
    },
    signal: ending.signal,
    report: (message, details) => void reports.push(`${message} ${JSON.stringify(details)}`),
  })
}

const event = (type = 'KeyRevoked') => ({
  id: uuidV7(++made, Buffer.alloc(10, made)),
  type,
  schema: 1,
  data: { keyId: `key ${made}`, reason: 'a test' },
  meta,
})

async function eventsOf(store: EventStore, stream = ACCOUNT): Promise<RecordedEvent[]> {
  const found: RecordedEvent[] = []
  for await (const one of store.read(stream)) found.push(one)
  return found
}

/** A log that was set back: the events of another one up to a position. */
async function setBack(log: MemoryLog, events: number): Promise<MemoryLog> {
  const earlier = createMemoryLog()
  const store = open(earlier)
  for (const { stream, revision, id, type, schema, data } of log.rows.slice(0, events))
    await store.append(
      stream,
      [{ id, type, schema, data: JSON.parse(data) as RecordedEvent['data'], meta }],
      { expected: revision === 0 ? 'no-stream' : revision - 1 },
    )
  return earlier
}

test('what was revoked is in the list when whoever revoked it is answered', async () => {
  const store = await keep(open(createMemoryLog()))
  await store.append(ACCOUNT, [event('KeyIssued')], { expected: 'no-stream' })
  expect(lines()).toEqual([])
  const revoked = event()
  await store.append(ACCOUNT, [revoked, event('KeyIssued')], { expected: 0 })
  expect(lines()).toEqual([expect.stringContaining(revoked.id)])
  // A repeat is answered too.
  await store.append(ACCOUNT, [revoked], { expected: 0 })
  expect(lines()).toHaveLength(1)
})

test('a kill between log and list: the next start adds what the log holds', async () => {
  const log = createMemoryLog()
  await (await keep(open(log))).append(ACCOUNT, [event()], { expected: 'no-stream' })
  ending.abort()
  const killed = event()
  await open(log).append(ACCOUNT, [killed], { expected: 0 })
  ending = new AbortController()
  const store = await keep(open(log))
  await store.append(ACCOUNT, [event()], { expected: 1 })
  expect(lines()).toEqual([expect.anything(), expect.stringContaining(killed.id), expect.anything()])
})

test('a log that was set back is given again what is missing, once, by however many processes, and under the same ids', async () => {
  const log = createMemoryLog()
  const store = await keep(open(log), 'one')
  await store.append(ACCOUNT, [event('KeyIssued'), event('KeyIssued')], { expected: 'no-stream' })
  const revoked = [event(), event(), event()]
  for (const [index, one] of revoked.entries()) await store.append(ACCOUNT, [one], { expected: index + 1 })
  ending.abort()
  ending = new AbortController()
  mkdirSync(join(folder, 'two'))
  writeFileSync(file('two'), readFileSync(file('one')))
  // The first of the three was in the backup.
  const earlier = await setBack(log, 3)
  const [one] = await Promise.all([keep(open(earlier), 'one'), keep(open(earlier), 'two')])
  const ids = (await eventsOf(one)).map(({ id }) => id)
  expect(ids.slice(2)).toEqual(revoked.map(({ id }) => id))
  expect(reports).toContainEqual(expect.stringContaining('the log was set back'))
  // Once more, nothing is left to do.
  reports = []
  await one.append(ACCOUNT, [event()], { expected: 4 })
  await keep(open(earlier), 'one')
  expect([(await eventsOf(one)).length, reports]).toEqual([6, []])
})

test('lists that were put together in any order are looked through to the end', async () => {
  const log = createMemoryLog()
  const store = openMemoryStore({ now: () => clock, log })
  const kept = await keep(store)
  await kept.append(ACCOUNT, [event('KeyIssued')], { expected: 'no-stream' })
  for (let revision = 0; revision < 40; revision++) {
    clock += 1_000
    await kept.append(ACCOUNT, [event()], { expected: revision })
  }
  ending.abort()
  ending = new AbortController()
  const all = lines()
  // The newest line first, then more old ones than are looked at.
  writeFileSync(file(), `${[...all.slice(-1), ...all.slice(0, -1)].join('\n')}\n`)
  const earlier = await setBack(log, 40)
  expect(await eventsOf(await keep(open(earlier)))).toHaveLength(41)
})

/** A log of three events that was followed to its end, as the list remarks. */
async function remarked(): Promise<MemoryLog> {
  const log = createMemoryLog()
  const store = await keep(open(log))
  await store.append(ACCOUNT, [event('KeyIssued'), event('KeyIssued')], { expected: 'no-stream' })
  for (let turn = 0; turn < 10; turn++) await setImmediate()
  clock = 10_000
  await store.append(ACCOUNT, [event('KeyIssued')], { expected: 1 })
  while (!readFileSync(file(), 'utf8').includes('# listed up to')) await setImmediate()
  ending.abort()
  ending = new AbortController()
  return log
}

/** The position after which the next start follows a log. */
async function begunAfter(log: MemoryLog): Promise<string | undefined> {
  const store = open(log)
  let begun: string | undefined
  await keep({
    ...store,
    subscribe(options) {
      begun = options.after
      return store.subscribe(options)
    },
  })
  return begun
}

test('the next start goes on where the list was known to be whole, not at the newest revocation', async () => {
  const log = await remarked()
  expect(await begunAfter(log)).toBe(await open(log).head())
  expect(readFileSync(file(), 'utf8').match(/# listed/g)).toHaveLength(1)
})

test('a remark that was cut off, or about another log, says nothing: what was revoked there is listed', async () => {
  const log = await remarked()
  const whole = readFileSync(file(), 'utf8')
  writeFileSync(file(), whole.trimEnd().slice(0, -1))
  expect(await begunAfter(log)).toBe('start')
  writeFileSync(file(), whole)
  // Set back before the remark, and grown past it while this process was away.
  const other = await setBack(log, 1)
  const revoked = event()
  const more = [revoked, event('KeyIssued'), event('KeyIssued')]
  await open(other).append(ACCOUNT, more, { expected: 0 })
  await keep(open(other))
  while (lines().length === 0) await setImmediate()
  expect(lines()).toEqual([expect.stringContaining(revoked.id)])
})

test('a stream that has not begun in the earlier log is not begun', async () => {
  const log = createMemoryLog()
  const store = await keep(open(log))
  await store.append(ACCOUNT, [event('KeyIssued')], { expected: 'no-stream' })
  await store.append(ACCOUNT, [event()], { expected: 0 })
  ending.abort()
  ending = new AbortController()
  const earlier = createMemoryLog()
  expect(await eventsOf(await keep(open(earlier)))).toEqual([])
})

test('a line that was cut off is taken away, and what it said is added anew', async () => {
  const log = createMemoryLog()
  await (await keep(open(log))).append(ACCOUNT, [event()], { expected: 'no-stream' })
  ending.abort()
  ending = new AbortController()
  const torn = event()
  await open(log).append(ACCOUNT, [torn], { expected: 0 })
  appendFileSync(file(), `2\t${ACCOUNT}\t1\tKeyRevoked\t1\t${torn.id}\t2026-11-22T12:00`)
  const store = await keep(open(log))
  await store.append(ACCOUNT, [event()], { expected: 1 })
  expect(lines().map((line) => line.split('\t').length)).toEqual([9, 9, 9])
})

test.each([
  ['a line that is none', 'what is this\n'],
  ['an event that revokes nothing', `1\tcredit-1\t0\tCreditGiven\t1\tid\tat\t{}\t{}\n`],
  ['a stream that has no such event', `1\tcredit-1\t0\tKeyRevoked\t1\tid\tat\t{}\t{}\n`],
])('a list with %s is refused, and nothing of it is appended', async (_what, text) => {
  writeFileSync(file(), text)
  const log = createMemoryLog()
  await expect(keep(open(log))).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('Put back the copy that you keep'),
  })
  expect(log.rows).toEqual([])
})

test('where the list cannot be written, nobody is told that something was revoked; once it can be, all is in it', async () => {
  const store = await keep(open(createMemoryLog()))
  rmSync(file())
  mkdirSync(file())
  const revoked = event()
  await expect(store.append(ACCOUNT, [revoked], { expected: 'no-stream' })).rejects.toMatchObject({
    code: 'append_unknown',
  })
  expect(reports[0]).toContain('cannot be added to its list')
  rmSync(file(), { recursive: true })
  while (lines().length === 0) await setImmediate()
  await store.append(ACCOUNT, [revoked], { expected: 'no-stream' })
  expect(lines()).toHaveLength(1)
})
