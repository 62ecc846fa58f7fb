import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors.ts'
import { DAY_MS } from '../../../contracts/timeframes.ts'
import { takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { appendSeries } from './archived-log.fixture.ts'
import { type AutoArchiveReport, keepArchived, startAutoArchive } from './auto-archive.ts'
import { logFile, openEmbeddedStore } from './embedded-store.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'auto-archive-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const textOf = async (store: Awaited<ReturnType<typeof openEmbeddedStore>>) => {
  const lines: string[] = []
  for await (const event of store.readAll()) lines.push(JSON.stringify(event))
  return lines
}

test('old events move by themselves beside the service, all read the same, and new ones are appended', async () => {
  const store = await openEmbeddedStore({ directory: folder, now: Date.now })
  await appendSeries(store, { count: 300, keysEvery: 50 })
  const written = await textOf(store)
  const ended = Promise.withResolvers<AutoArchiveReport>()
  const archive = startAutoArchive({ file: logFile(folder), olderThanMs: 0 }, ended.resolve)
  const { events, files } = await ended.promise
  expect([events > 100, files]).toEqual([true, 1])
  expect(archive.report()).toMatchObject({ events, endedAt: expect.any(Number) })
  expect(readdirSync(join(folder, 'archive'))).toHaveLength(1)
  expect(await textOf(store)).toEqual(written)
  await appendSeries(store, { count: 5 })
  expect((await textOf(store)).length).toBeGreaterThan(written.length)
  await archive.close()
  await store.close()
})

test('beside a command that archives, it waits for that one, and moves nothing', async () => {
  const store = await openEmbeddedStore({ directory: folder, now: Date.now })
  await appendSeries(store, { count: 50 })
  const lock = takeFileLock(join(folder, 'archive.lock'), 'an archiving')
  const archive = startAutoArchive({ file: logFile(folder), olderThanMs: 0 }, () => undefined)
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  expect(archive.report()).toBeUndefined()
  expect(readdirSync(join(folder, 'archive'))).toEqual([])
  await archive.close()
  lock.release()
  await store.close()
})

test('it runs each day; what broke off is told and tried again', async () => {
  const ending = new AbortController()
  const outcomes = ['done', 'store_unavailable', 'store_locked', 'done'] as const
  const [asked, waited, told]: [number[], number[], AutoArchiveReport[]] = [[], [], []]
  let now = 10 * DAY_MS
  await keepArchived({
    olderThanMs: 3 * DAY_MS,
    async archive({ before }) {
      const outcome = outcomes[asked.push(before.getTime()) - 1]
      if (outcome !== 'done') throw new ServiceError(outcome ?? 'internal_error')
      return { events: 7, files: 1, bytes: 1, freeBytes: 0 }
    },
    now: () => now,
    async sleep(milliseconds) {
      waited.push(milliseconds)
      now += milliseconds
      if (waited.length === outcomes.length) ending.abort()
    },
    signal: ending.signal,
    report: (report) => told.push(report),
  })
  expect(asked[0]).toBe(7 * DAY_MS)
  expect(waited).toEqual([DAY_MS, 600_000, 600_000, DAY_MS])
  expect(told.map(({ problem }) => problem === undefined)).toEqual([true, false, true])
})
