import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { aVerdict } from '../../contracts/domain/verdict.fixture.ts'
import { verdictStream } from '../../contracts/events/streams.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { appendFacts, nextFactId, verdictRecorded } from '../../projections/given-events.fixture.ts'
import { appendNext } from '../../testing/append-next.ts'
import { logFile, openEmbeddedStore } from '../log/embedded/embedded-store.ts'
import type { EventStore } from '../log/event-store.ts'
import { PROCESS_TIME } from '../runtime/admission/line.ts'
import { createTurns } from '../runtime/admission/turns.ts'
import { VERDICT_FORMATS } from './formats/verdict-formats.ts'
import { type Replay, type ReplayRequest, type ReplaySource, replaysOnThisThread } from './replay-source.ts'
import { ReplayWorker } from './replay-worker.ts'
import { positionOfCursor } from './shown-rows.ts'

let directory: string
let store: EventStore
let worker: ReplayWorker
let threads: Worker[]

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'replays-'))
  store = await openEmbeddedStore({ directory, now: () => 0 })
  threads = []
  worker = new ReplayWorker({ file: logFile(directory), start: startThread })
})
afterEach(async () => {
  await worker.close()
  await store.close()
  rmSync(directory, { recursive: true, force: true })
})

function startThread(file: string): Worker {
  const thread = new Worker(new URL('./replay-thread.ts', import.meta.url), { workerData: { file } })
  threads.push(thread)
  return thread
}

let made = 0
/** Verdicts of two coins in turn. */
async function record(count: number): Promise<void> {
  const events = Array.from({ length: count }, () => {
    const coin = ++made % 2 === 0 ? 'BTC' : 'ETH'
    return verdictRecorded({ verdictId: nextFactId(), coin, validUntil: made }).event
  })
  for (let n = 0; n < count; n += 100) {
    await appendNext(store, verdictStream(aVerdict()), events.slice(n, n + 100))
  }
}

const request = (
  options: Partial<ReplayRequest['options']> = {},
  change: Partial<ReplayRequest> = {},
): ReplayRequest => ({
  options: { filter: {}, after: 'start', limit: 1_000_000, withOpen: true, ...options },
  format: 'ndjson',
  owner: 'somebody',
  signal: new AbortController().signal,
  ...change,
})

async function bytesOf({ chunks }: Replay): Promise<Buffer> {
  const all: Buffer[] = []
  for await (const chunk of chunks) all.push(Buffer.from(chunk))
  return Buffer.concat(all)
}

const onThisThread = (): ReplaySource =>
  replaysOnThisThread(store, createTurns({ turnMs: 1, time: PROCESS_TIME }))

test.each(VERDICT_FORMATS)('%s is what it is without a thread, byte for byte', async (format) => {
  await record(3_000)
  for (const options of [
    {},
    { limit: 7 },
    { withOpen: false },
    { filter: { coins: ['BTC'] } },
    { filter: { exchanges: ['SIM' as const], coins: ['NOSUCH'] } },
    { upTo: '50', after: '10' },
    { upTo: new Date(0) },
  ]) {
    const wanted = request(options, { format })
    expect(await bytesOf(worker.replay(wanted))).toEqual(await bytesOf(onThisThread()(wanted)))
  }
})

test('many at a time each have all of theirs, while the log grows', async () => {
  await record(1_000)
  const replays = Array.from({ length: 12 }, (_, n) =>
    bytesOf(worker.replay(request({ upTo: '1000' }, { owner: `address ${n % 3}` }))),
  )
  await record(500)
  const lines = (await Promise.all(replays)).map((bytes) => bytes.toString().split('\n').length - 1)
  expect(lines).toEqual(Array.from({ length: 12 }, () => 1_000))
  expect(threads).toHaveLength(1)
})

describe('who does not read', () => {
  test('has two chunks made ahead and no more, and holds up nobody', async () => {
    await record(3_000)
    const slow = worker.replay(request())
    const first = await slow.chunks.next()
    const others = await bytesOf(worker.replay(request()))
    const rest = await bytesOf({ chunks: slow.chunks, notes: () => ({}) })
    expect(Buffer.concat([Buffer.from(first.value as Uint8Array), rest])).toEqual(others)
  })

  test('and leaves ends its replay', async () => {
    await record(3_000)
    const leaving = new AbortController()
    const replay = worker.replay(request({}, { signal: leaving.signal }))
    await replay.chunks.next()
    leaving.abort()
    const left = await bytesOf(replay)
    expect(left.length).toBeLessThan((await bytesOf(worker.replay(request()))).length / 2)
  })
})

test('a thread that is killed fails what is under way, and the next replay has another', async () => {
  await record(3_000)
  const cut = worker.replay(request())
  await cut.chunks.next()
  await threads[0]?.terminate()
  await expect(bytesOf(cut)).rejects.toMatchObject({ code: 'store_unavailable' })
  expect((await bytesOf(worker.replay(request()))).toString().split('\n')).toHaveLength(3_001)
  expect(threads).toHaveLength(2)
})

test('a log that cannot be opened refuses, and a refusal of the log keeps its code', async () => {
  const nowhere = new ReplayWorker({ file: join(directory, 'nowhere', 'events.db') })
  await expect(bytesOf(nowhere.replay(request()))).rejects.toMatchObject({ code: 'store_unavailable' })
  await nowhere.close()
  const foreign = request({ upTo: '1/2' })
  await expect(bytesOf(worker.replay(foreign))).rejects.toMatchObject({ code: 'invalid_request' })
})

test('closed it ends what is under way and takes nothing more', async () => {
  await record(3_000)
  const open = worker.replay(request())
  await open.chunks.next()
  await worker.close()
  await expect(bytesOf(open)).rejects.toMatchObject({ code: 'store_unavailable' })
  await expect(bytesOf(worker.replay(request()))).rejects.toMatchObject({ code: 'store_unavailable' })
})

test('a search that finds nothing ends, and goes on from its cursor without loss', async () => {
  await record(4_000)
  await appendFacts(store, verdictRecorded({ call: 'SELL', validUntil: 0 }))
  const limits = LIMITS as { replaySearchEvents: number }
  const before = limits.replaySearchEvents
  limits.replaySearchEvents = 1_000
  try {
    const rows: string[] = []
    let after: string | undefined
    let answers = 0
    do {
      const replay = onThisThread()(
        request({ filter: { calls: ['SELL'] }, after: positionOfCursor(after ?? 'start') ?? expect.fail() }),
      )
      rows.push(...(await bytesOf(replay)).toString().split('\n').filter(Boolean))
      after = replay.notes().goOnAfter
      answers += 1
    } while (after !== undefined)
    expect(rows).toHaveLength(1)
    expect(answers).toBeGreaterThan(2)
  } finally {
    limits.replaySearchEvents = before
  }
})

test('the thread ends once nobody replays for a while, and another is started for the next replay', async () => {
  await record(300)
  const resting = new ReplayWorker({ file: logFile(directory), start: startThread, restMs: 1 })
  const whole = await bytesOf(resting.replay(request()))
  await once(threads[0] ?? expect.fail(), 'exit')
  expect(await bytesOf(resting.replay(request()))).toEqual(whole)
  expect(threads).toHaveLength(2)
  await resting.close()
})
