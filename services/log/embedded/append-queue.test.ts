import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { anEvent } from '../event-store.contract.ts'
import { validateAppend } from '../validate-append.ts'
import { AppendQueue } from './append-queue.ts'
import type { AppendOutcome } from './commit-batch.ts'

test('a commit is under way before readers of the one before are woken', async () => {
  const seen: string[] = []
  let commits = 0
  const queue = new AppendQueue(
    {
      async commit(batch) {
        seen.push(`commit ${++commits} of ${batch.length}`)
        const outcome: AppendOutcome = { revision: commits, position: commits, at: '' }
        return batch.map(() => outcome)
      },
      late: () => undefined,
      erase: async () => undefined,
      close: async () => undefined,
    },
    Date.now,
    { keep: () => undefined, wake: () => void seen.push('readers') },
  )
  const append = async (): Promise<void> => {
    const events = [anEvent()]
    await queue.push(validateAppend('s', events, 'no-stream'), events)
    seen.push('answered')
  }
  const appendTwice = async (): Promise<void> => {
    await append()
    await append()
  }
  await Promise.all([appendTwice(), appendTwice()])
  await queue.drain()
  await setImmediate()
  expect(seen).toEqual([
    'commit 1 of 2',
    'answered',
    'answered',
    'commit 2 of 2',
    'readers',
    'answered',
    'answered',
    'readers',
  ])
})

/** A queue over a writer whose commits end when the test says so, and what was handed over and answered. */
function heldQueue() {
  const seen: string[] = []
  const held: PromiseWithResolvers<AppendOutcome[]>[] = []
  let position = 0
  const queue = new AppendQueue(
    {
      commit(batch) {
        seen.push(`commit of ${batch.length}`)
        held.push(Promise.withResolvers<AppendOutcome[]>())
        return held.at(-1)?.promise ?? Promise.reject(new Error('nothing is held'))
      },
      late: () => undefined,
      erase: async () => undefined,
      close: async () => undefined,
    },
    Date.now,
    { keep: ({ outcomes }) => void seen.push(`keep ${outcomes.length}`), wake: () => undefined },
  )
  async function push(name: string, count: number): Promise<void> {
    const appends = Array.from({ length: count }, async () => {
      const events = [anEvent()]
      await queue.push(validateAppend('s', events, 'no-stream'), events)
    })
    const ended = await Promise.allSettled(appends)
    seen.push(`${name}: ${[...new Set(ended.map(({ status }) => status))].join(' and ')}`)
  }
  const end = async (count: number): Promise<void> => {
    held
      .shift()
      ?.resolve(Array.from({ length: count }, () => ({ revision: ++position, position, at: 'now' })))
    await setImmediate()
  }
  return { queue, seen, push, end, held }
}

test('while a commit is under way, enough events begin a second one, and no third', async () => {
  const { queue, seen, push, end } = heldQueue()
  const all = [push('first', 30), push('second', 30), push('third', 30)]
  await setImmediate()
  expect(seen).toEqual(['commit of 24', 'commit of 24'])
  expect(queue.length).toBe(90)
  await end(24)
  expect(seen).toEqual(['commit of 24', 'commit of 24', 'commit of 42', 'keep 24'])
  await end(24)
  await end(42)
  await Promise.all(all)
  expect(seen.slice(4)).toEqual([
    'keep 24',
    'first: fulfilled',
    'keep 42',
    'second: fulfilled',
    'third: fulfilled',
  ])
  expect(queue.length).toBe(0)
})

test('few wait until the commit under way has ended', async () => {
  const { seen, push, end } = heldQueue()
  const first = push('first', 1)
  await setImmediate()
  const second = push('second', 23)
  await setImmediate()
  expect(seen).toEqual(['commit of 1'])
  await end(1)
  await end(23)
  await Promise.all([first, second])
  expect(seen).toEqual([
    'commit of 1',
    'commit of 23',
    'keep 1',
    'first: fulfilled',
    'keep 23',
    'second: fulfilled',
  ])
})

test('a commit that fails takes no other with it', async () => {
  const { queue, seen, push, end, held } = heldQueue()
  const all = [push('first', 24), push('second', 24)]
  await setImmediate()
  held.shift()?.reject(new Error('the thread is gone'))
  await setImmediate()
  await end(24)
  await Promise.all(all)
  await queue.drain()
  expect(seen).toEqual([
    'commit of 24',
    'commit of 24',
    'keep 0',
    'first: rejected',
    'keep 24',
    'second: fulfilled',
  ])
})
