import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startThread } from './beside-thread.ts'
import { logFile, openEmbeddedStore } from './embedded-store.ts'
import { startScrub } from './scrub.ts'

const threads: Worker[] = []
const noted = (message: unknown): void => void threads.push((message as { worker: Worker }).worker)
beforeEach(() => subscribe('worker_threads', noted))
afterEach(() => {
  unsubscribe('worker_threads', noted)
  threads.length = 0
})

/** Says that it is there, and rests for a moment, as a thread does that is due again much later. */
const RESTING = `import { parentPort } from 'node:worker_threads'
parentPort.postMessage({ said: 'here' })
parentPort.postMessage({ restMs: 20 })`

test('a thread that rests ends, and begins again when it is due, until it is closed', async () => {
  const said: unknown[] = []
  const thirdSaid = Promise.withResolvers<void>()
  const close = startThread(new URL(`data:text/javascript,${encodeURIComponent(RESTING)}`), undefined, {
    report: (message) => said.push(message) === 3 && thirdSaid.resolve(),
    failed: (problem) => thirdSaid.reject(new Error(problem)),
  })
  await thirdSaid.promise
  await close()
  const ended = said.length
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(said).toHaveLength(ended)
})

test('the scrub of a log keeps no thread from one day to the next', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'scrub-rests-'))
  const store = await openEmbeddedStore({ directory: folder, now: Date.now })
  const [writer] = threads
  const told = { damaged: () => expect.fail(), readModelsDamaged: () => expect.fail() }
  const scrub = startScrub({ file: logFile(folder), readModels: undefined }, told)
  await expect.poll(() => threads.length, { timeout: 10_000 }).toBe(2)
  await once(threads[1] ?? expect.fail(), 'exit')
  expect(scrub.report()).toMatchObject({ damaged: 0, endedAt: expect.any(Number) })
  expect(writer?.threadId).toBeGreaterThan(0)
  await scrub.close()
  await store.close()
  rmSync(folder, { recursive: true })
})
