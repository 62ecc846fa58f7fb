import { expect, test } from 'vitest'
import type { NewEvent } from '../../contracts/event.ts'
import {
  EVENT_CATALOGUE,
  FIRST_LOG_FORMAT,
  LogFormatRaised,
  NEWEST_LOG_FORMAT,
  VerdictRecorded,
} from '../../contracts/event-catalogue.ts'
import { newEvent } from '../../contracts/event-definition.ts'
import { STORE_IDENTITY_STREAM } from '../../contracts/streams.ts'
import { aVerdict } from '../../contracts/verdict.fixture.ts'
import { createMemoryLog, openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import { LOOKS_AGAIN } from './append-until-known.ts'
import { openLogFormat } from './log-format.ts'

const meta = { correlationId: 'test', actor: 'test' }
let ids = 0
const newId = (): string => `019abcde-7c00-7001-8000-${String(++ids).padStart(12, '0')}`
const signal = new AbortController().signal
const sleep = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function world() {
  const log = createMemoryLog()
  const store = openMemoryStore({ now: () => 0, log })
  const path = { policy: LOOKS_AGAIN, now: () => 0, sleep, signal }
  return { store, open: () => openLogFormat(path, store, newId) }
}

const verdict = (id = newId()): NewEvent => newEvent(VerdictRecorded, { id, data: aVerdict(), meta })
const STREAM = 'verdict-SIM.BTC.1h'

async function schemas(store: ReturnType<typeof world>['store'], stream = STREAM): Promise<number[]> {
  const all: number[] = []
  for await (const { schema } of store.read(stream)) all.push(schema)
  return all
}

test('a log that older processes may read is written so that they can, until it is raised', async () => {
  const { store, open } = world()
  const format = await open()
  expect(format.current()).toBe(FIRST_LOG_FORMAT)
  await format.store.append(STREAM, [verdict()], { expected: 'no-stream' })
  await format.raise(meta)
  await format.store.append(STREAM, [verdict()], { expected: 0 })
  expect(await schemas(store)).toEqual([2, VerdictRecorded.schema])
  for await (const { schema, data } of store.read(STREAM)) expect('forecast' in data).toBe(schema >= 3)
})

test('what an older process cannot read in any form is refused meanwhile, with what to do', async () => {
  const { open } = world()
  const format = await open()
  const change: NewEvent = { id: newId(), type: 'EndpointChanged', schema: 1, data: {}, meta }
  const stream = 'subscription-1'
  await expect(format.store.append(stream, [change], { expected: 'no-stream' })).rejects.toMatchObject({
    code: 'upgrade_under_way',
  })
  await format.raise(meta)
  await format.store.append(stream, [change], { expected: 'no-stream' })
})

test('it is raised once, by whoever asks, and every process learns it', async () => {
  const { store, open } = world()
  const [one, other, late] = [await open(), await open(), await open()]
  const ending = new AbortController()
  const following = late.follow(ending.signal)
  expect(await Promise.all([one.raise(meta), other.raise(meta)])).toEqual([
    NEWEST_LOG_FORMAT,
    NEWEST_LOG_FORMAT,
  ])
  await expect.poll(() => late.current()).toBe(NEWEST_LOG_FORMAT)
  ending.abort()
  await following
  expect(await schemas(store, STORE_IDENTITY_STREAM)).toHaveLength(1)
  expect((await open()).current()).toBe(NEWEST_LOG_FORMAT)
})

test('an append that is repeated after it was raised is the very same append, also by another process', async () => {
  const { open, store } = world()
  const [one, other] = [await open(), await open()]
  const event = verdict()
  await one.store.append(STREAM, [event], { expected: 'no-stream' })
  await one.raise(meta)
  // The same process, the same fact computed again, and one that has not heard of it.
  for (const [format, again] of [
    [one, event],
    [one, { ...event }],
    [other, { ...event }],
  ] as const)
    expect(await format.store.append(STREAM, [again], { expected: 'no-stream' })).toMatchObject({
      replayed: true,
    })
  const newer = verdict()
  await one.store.append(STREAM, [newer], { expected: 0 })
  expect(await other.store.append(STREAM, [{ ...newer }], { expected: 0 })).toMatchObject({ replayed: true })
  expect(await schemas(store)).toEqual([2, VerdictRecorded.schema])
})

test('an append that says what no older process could read is told apart from another of its id', async () => {
  const { open } = world()
  const format = await open()
  await format.raise(meta)
  const newer = { id: newId(), type: 'EndpointChanged', schema: 1, meta }
  const change = (sealedUrl: string): NewEvent => ({ ...newer, data: { sealedUrl } })
  const stream = 'subscription-1'
  await format.store.append(stream, [change('one')], { expected: 'no-stream' })
  await expect(
    format.store.append(stream, [change('other')], { expected: 'no-stream' }),
  ).rejects.toMatchObject({ code: 'idempotency_conflict' })
})

test('a process that the log has gone beyond ends, and one of it is not started', async () => {
  const { open, store } = world()
  const format = await open()
  const ending = new AbortController()
  const following = format.follow(ending.signal)
  const beyond = { format: NEWEST_LOG_FORMAT + 1 }
  await store.append(
    STORE_IDENTITY_STREAM,
    [newEvent(LogFormatRaised, { id: newId(), data: beyond, meta })],
    {
      expected: 'no-stream',
    },
  )
  await expect(format.failure).rejects.toMatchObject({
    code: 'event_unreadable',
    message: expect.stringContaining('this one reads up to'),
  })
  ending.abort()
  await following
  await expect(open()).rejects.toMatchObject({ code: 'event_unreadable' })
})

test('no version came with a format that this release does not write', () => {
  for (const { type, formats } of Object.values(EVENT_CATALOGUE))
    for (const [version, format] of Object.entries(formats))
      expect(format, `${type} ${version}`).toBeLessThanOrEqual(NEWEST_LOG_FORMAT)
})
