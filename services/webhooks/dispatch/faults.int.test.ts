import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { type Receiver, startReceiver } from './testing/receiver.fixture.ts'

const NAMES = ['one', 'two', 'three']
const SEEDS = [1, 2, 3]
const KILLS = 2

let directory: string
let receiver: Receiver
let child: ChildProcess | undefined
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'faults-'))
})
afterEach(async () => {
  child?.kill('SIGKILL')
  await receiver.close()
  rmSync(directory, { recursive: true, force: true })
})

/** Starts the process under test; resolves when it has begun. */
async function start(verdicts: number): Promise<ChildProcess> {
  const file = join(import.meta.dirname, 'testing', 'dispatch-child.ts')
  const started = spawn(
    process.execPath,
    [file, directory, receiver.url, NAMES.join(','), String(verdicts)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  child = started
  await once(started.stdout, 'data')
  return started
}

async function kill(started: ChildProcess): Promise<void> {
  const exited = once(started, 'exit')
  started.kill('SIGKILL')
  await exited
}

/** Ids of all verdicts in the log, in its order. */
async function recorded(): Promise<string[]> {
  const store = await openEmbeddedStore({ directory, now: Date.now })
  const ids: string[] = []
  for await (const { id } of store.readAll({ filter: { types: ['VerdictRecorded'] } })) ids.push(id)
  await store.close()
  return ids
}

describe('killed at random moments, with endpoints that fail and hang now and then', () => {
  test.each(SEEDS)(
    'with owners who pause and resume, seed %i: every signal reaches every endpoint, under one number, id and body',
    async (seed) => {
      const [posts] = fc.sample(
        fc.array(fc.integer({ min: 30, max: 400 }), { minLength: KILLS, maxLength: KILLS }),
        { seed, numRuns: 1 },
      )
      receiver = await startReceiver((_name, n, response) => {
        // One in a hundred hangs, and one in fifty is answered with a failure.
        if (n % 100 === 50) return
        response.statusCode = n % 50 === 7 ? 500 : 204
        response.end()
      })
      let seen = 0
      for (const more of posts ?? []) {
        const running = await start(100_000)
        seen = total() + more
        await waitForPosts(seen)
        await kill(running)
      }
      const ids = await recorded()
      expect(ids.length).toBeGreaterThan(KILLS)
      const last = await start(0)
      await receiver.whole(NAMES, ids.length)
      await kill(last)

      for (const name of NAMES) {
        const received = receiver.received.get(name) ?? []
        const bySequence = new Map<number, string>()
        for (const { sequence, deliveryId, sha256, verdictId } of received) {
          // The number says which verdict it is, in the order of the log.
          expect(verdictId).toBe(ids[sequence - 1])
          const known = bySequence.get(sequence) ?? `${deliveryId} ${sha256}`
          expect(`${deliveryId} ${sha256}`).toBe(known)
          bySequence.set(sequence, known)
        }
        expect(bySequence.size).toBe(ids.length)
        expect(new Set(bySequence.values()).size).toBe(ids.length)
      }
    },
    180_000,
  )

  const total = (): number => [...receiver.received.values()].reduce((sum, posts) => sum + posts.length, 0)

  const waitForPosts = (count: number): Promise<unknown> =>
    vi.waitUntil(() => total() >= count, { timeout: 60_000, interval: 5 })
})
