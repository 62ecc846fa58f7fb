import { expect, test } from 'vitest'
import { encodeAppend } from '../encode-append.ts'
import { anEvent } from '../event-store.contract.ts'
import { AppendQueue } from './append-queue.ts'
import type { AppendOutcome } from './commit-batch.ts'

test('a commit is under way before readers of the one before are woken', async () => {
  const seen: string[] = []
  let commits = 0
  const queue = new AppendQueue(
    {
      hasEnded: false,
      async commit(batch) {
        seen.push(`commit ${++commits} of ${batch.length}`)
        const outcome: AppendOutcome = { revision: commits, position: commits, at: '' }
        return batch.map(() => outcome)
      },
      erase: async () => undefined,
      close: async () => undefined,
    },
    Date.now,
    { keep: () => undefined, wake: () => void seen.push('readers') },
  )
  const append = async (): Promise<void> => {
    const events = [anEvent()]
    await queue.push(encodeAppend('s', events, 'any'), events)
    seen.push('answered')
  }
  const appendTwice = async (): Promise<void> => {
    await append()
    await append()
  }
  await Promise.all([appendTwice(), appendTwice()])
  await queue.drain()
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
