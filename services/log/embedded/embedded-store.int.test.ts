import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { NewEvent, RecordedEvent } from '../../../contracts/infra/event.ts'
import { START } from '../../../contracts/infra/position.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { appendNext } from '../../../testing/append-next.ts'
import { anEvent, collect } from '../event-store.contract.ts'
import type { EventStore, SubscriptionItem } from '../event-store.ts'
import { validateAppend } from '../validate-append.ts'
import type { Committed } from './append-queue.ts'
import { openEmbeddedStore } from './embedded-store.ts'
import { LogReader } from './log-reader.ts'
import { startWriter } from './writer.ts'

/** `KILLS=100` kills more often. */
const KILLS = Number(process.env.KILLS ?? 20)

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'store-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const open = (options: Partial<Parameters<typeof openEmbeddedStore>[0]> = {}): Promise<EventStore> =>
  openEmbeddedStore({ directory, now: Date.now, ...options })

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no error',
    (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
  )

const childProcess = (run: number) =>
  spawn(
    process.execPath,
    [join(import.meta.dirname, '../../../testing/crash-child.ts'), directory, String(run)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )

/** Runs the appending process until it has acknowledged `kill` appends, then kills it. */
async function runUntilKilled(run: number, killAfter: number): Promise<string[]> {
  const child = childProcess(run)
  const exited = once(child, 'exit')
  const acknowledged: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    if (line !== 'ready') acknowledged.push(line)
    if (acknowledged.length === killAfter) child.kill('SIGKILL')
  }
  await exited
  return acknowledged
}

describe('killed under load', () => {
  test(
    `${KILLS} kills: nothing acknowledged is lost, no append is torn, positions stay dense`,
    async () => {
      const acknowledged: string[] = []
      for (let run = 0; run < KILLS; run++) {
        acknowledged.push(...(await runUntilKilled(run, 40 + ((run * 97) % 400))))
      }
      expect(acknowledged.length).toBeGreaterThan(KILLS * 40)

      const store = await open()
      const all = await collect(store.readAll())
      await store.close()
      const stored = new Set(all.map((event) => `${event.stream} ${event.revision} ${event.id}`))
      expect(acknowledged.filter((line) => !stored.has(line))).toEqual([])
      expect(all.map((event) => event.position)).toEqual(all.map((_, index) => String(index + 1)))
      for (let index = 0; index < all.length; index += 2) {
        const [first, second] = [all[index], all[index + 1]]
        expect([first?.data.half, second?.data.half]).toEqual(['first', 'second'])
        expect([second?.stream, second?.revision]).toEqual([first?.stream, (first?.revision ?? 0) + 1])
      }
      const db = new DatabaseSync(join(directory, 'events.db'))
      expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
      db.close()
    },
    KILLS * 9_000,
  )
})

describe('a second writer', () => {
  test('in another process is refused while the first lives, and let in once it was killed', async () => {
    const child = childProcess(0)
    await once(child.stdout, 'data')
    expect(await codeOf(open())).toBe('store_locked')
    child.kill('SIGKILL')
    await once(child, 'exit')
    const store = await open()
    expect((await store.health()).ok).toBe(true)
    await store.close()
  })

  test('in the same process is refused too, and let in after close', async () => {
    const store = await open()
    expect(await codeOf(open())).toBe('store_locked')
    await store.close()
    await (await open()).close()
  })
})

describe('a full disk', () => {
  test('at the first start is told as such, and the lock is let go', async () => {
    expect(await codeOf(open({ writer: (given) => startWriter({ ...given, maxPages: 2 }) }))).toBe(
      'store_full',
    )
    await (await open()).close()
  })

  test('refuses what does not fit, keeps all that was acknowledged, and resumes when there is room', async () => {
    let now = 0
    const writer: typeof startWriter = (given) => startWriter({ ...given, maxPages: 60 })
    const store = await open({ writer, now: () => now })
    const kept: string[] = []
    let refused: string | undefined
    for (let n = 0; refused === undefined; n++) {
      const event = anEvent({ text: 'x'.repeat(2_000), n })
      refused = await store.append(`s-${n}`, [event], { expected: 'no-stream' }).then(
        () => void kept.push(event.id),
        (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
      )
    }
    expect(refused).toBe('store_full')
    expect(kept.length).toBeGreaterThan(10)
    expect(await store.health()).toMatchObject({ ok: false })
    // Nobody is sent to a store that is not well, so that no append would show that it is again.
    now += 31_000
    expect(await store.health()).toMatchObject({ ok: true })
    expect((await collect(store.readAll())).map((event) => event.id)).toEqual(kept)
    await store.close()

    const roomy = await open()
    const next = anEvent({ text: 'y'.repeat(2_000) })
    await roomy.append('s-next', [next], { expected: 'no-stream' })
    expect((await collect(roomy.readAll())).map((event) => event.id)).toEqual([...kept, next.id])
    expect(await roomy.health()).toMatchObject({ ok: true })
    await roomy.close()
  })
})

describe('the queue', () => {
  test('is bounded: past it callers are told at once, and everybody before is answered', async () => {
    const gate = Promise.withResolvers<void>()
    const store = await open({
      writer: async (options) => {
        const writer = await startWriter(options)
        return {
          async commit(batch, at) {
            await gate.promise
            return writer.commit(batch, at)
          },
          late: () => undefined,
          erase: (stream) => writer.erase(stream),
          close: () => writer.close(),
        }
      },
    })
    const appends = Array.from({ length: LIMITS.appendQueue + 51 }, (_, n) =>
      codeOf(store.append(`s-${n}`, [anEvent()], { expected: 'no-stream' })),
    )
    await expect(Promise.race([appends.at(-1), appends[0]])).resolves.toBe('store_unavailable')
    // An overload is no fault of the store.
    expect(await store.health()).toMatchObject({ ok: true })
    gate.resolve()
    const outcomes = await Promise.all(appends)
    // Besides those that wait, two commits of 24 are with the writer.
    expect(outcomes.filter((outcome) => outcome === 'no error')).toHaveLength(LIMITS.appendQueue + 48)
    expect(outcomes.filter((outcome) => outcome === 'store_unavailable')).toHaveLength(3)
    await store.close()
  })

  test('a request that is refused is refused alone', async () => {
    const store = await open()
    const good = Array.from({ length: 6 }, () => anEvent())
    const outcomes = await Promise.all(
      good.map((event, n) =>
        codeOf(store.append(`s-${n}`, [event], { expected: n % 2 === 0 ? 'no-stream' : 7 })),
      ),
    )
    expect(outcomes).toEqual([
      'no error',
      'revision_conflict',
      'no error',
      'revision_conflict',
      'no error',
      'revision_conflict',
    ])
    expect((await collect(store.readAll())).map((event) => event.id)).toEqual([
      good[0]?.id,
      good[2]?.id,
      good[4]?.id,
    ])
    await store.close()
  })
})

describe('who follows the log', () => {
  const eventsOf = async (
    items: AsyncIterator<SubscriptionItem>,
    count: number,
  ): Promise<RecordedEvent[]> => {
    const events: RecordedEvent[] = []
    while (events.length < count) {
      const { value } = (await items.next()) as { value: SubscriptionItem }
      if (value.kind === 'event') events.push(value.event)
    }
    return events
  }

  test('is given what was appended as it was given, and the same that the file holds', async () => {
    const store = await open()
    const following = store.subscribe({ after: 'end', signal: new AbortController().signal })
    const items = following[Symbol.asyncIterator]()
    const events = Array.from({ length: 5 }, () => anEvent({ text: 'é', nested: { list: [1, null] } }))
    const [first, second, third, ...together] = events as [NewEvent, NewEvent, NewEvent, ...NewEvent[]]
    // Nothing is kept while nobody follows.
    for (let n = 0; n < 70; n++) await appendNext(store, 's-0', [anEvent()])
    await store.append('s-1', [first], { expected: 'no-stream' })
    const followed = (await eventsOf(items, 71)).slice(70)
    const outcomes = await Promise.all(
      [
        store.append('s-2', [second], { expected: 'no-stream' }),
        store.append('subject-1.0', [anEvent({ secret: true })], { expected: 'no-stream' }),
        store.append('s-3', [anEvent()], { expected: 7 }),
        store.append('s-1', [first], { expected: 'no-stream' }),
        store.append('s-1', together, { expected: 0 }),
      ].map(codeOf),
    )
    expect(outcomes).toEqual(['no error', 'no error', 'revision_conflict', 'no error', 'no error'])
    await store.append('s-2', [third], { expected: 0 })
    // A commit that appends nothing takes nothing of it away.
    expect(await codeOf(store.append('s-3', [anEvent()], { expected: 7 }))).toBe('revision_conflict')
    followed.push(...(await eventsOf(items, 4)))
    expect(followed).toEqual((await collect(store.readAll())).slice(70))
    expect(followed[0]?.data).not.toBe(first.data)
    expect(followed[1]?.data).toBe(second.data)
    expect(followed.slice(2).map(({ data }) => data)).toEqual([...together, third].map(({ data }) => data))
    expect(followed[4]?.data).toBe(third.data)
    await store.close()
  })

  test('reads from the file what lies between what it has and what was appended', async () => {
    const store = await open()
    const reader = new LogReader(join(directory, 'events.db'))
    const append = async (): Promise<Committed & { position: string }> => {
      const events = [anEvent()]
      const { revision, position } = await appendNext(store, 's-1', events)
      const at = new Date().toISOString()
      const batch = [{ append: validateAppend('s-1', events, 'no-stream'), events }]
      return { batch, outcomes: [{ revision, position: Number(position), at }], position }
    }
    const first = await append()
    const { position } = first
    reader.keep(first)
    expect(reader.readPage(START, 9).events).toHaveLength(1)
    await append()
    reader.keep(await append())
    const { events } = reader.readPage(position, 9)
    expect(events).toEqual(await collect(store.readAll({ after: position })))
    expect(events).toHaveLength(2)
    reader.close()
    await store.close()
  })
})

describe('the write-ahead log', () => {
  test('is copied into the file once it holds 4,000 pages, and is not written on and on', async () => {
    const store = await open()
    let most = 0
    for (let n = 0; n < 56; n++) {
      const events = [anEvent({ text: 'x'.repeat(800_000) })]
      await store.append(`s-${n}`, events, { expected: 'no-stream' })
      most = Math.max(most, statSync(join(directory, 'events.db-wal')).size)
    }
    expect(most).toBeGreaterThan(24 * 1_048_576)
    expect(most).toBeLessThan(40 * 1_048_576)
    await store.close()
  })
})

describe('a clock that steps back', () => {
  test('puts no event before its predecessor in time, also over a restart', async () => {
    let now = 5_000
    const at = async (store: EventStore) =>
      (await collect(store.readAll())).map((event) => Date.parse(event.at))
    const first = await open({ now: () => now })
    await appendNext(first, 's-1', [anEvent()])
    now = 1_000
    await appendNext(first, 's-1', [anEvent()])
    expect(await at(first)).toEqual([5_000, 5_000])
    await first.close()
    const second = await open({ now: () => now })
    await appendNext(second, 's-1', [anEvent()])
    now = 6_000
    await appendNext(second, 's-1', [anEvent()])
    expect(await at(second)).toEqual([5_000, 5_000, 5_000, 6_000])
    await second.close()
  })
})

describe('a file that cannot be opened', () => {
  test('of another layout is refused with the reason, and the lock is let go', async () => {
    const db = new DatabaseSync(join(directory, 'events.db'))
    db.exec('PRAGMA user_version = 99')
    db.close()
    await expect(open()).rejects.toThrow(/layout 99/)
    await expect(open()).rejects.toThrow(/layout 99/)
  })

  test('of a damaged lock is not taken for a second process', async () => {
    writeFileSync(join(directory, 'events.lock'), 'x'.repeat(5_000))
    expect(await codeOf(open())).toBe('store_unavailable')
  })
})
