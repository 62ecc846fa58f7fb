import { expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors.ts'
import { keepWriterRunning } from './keep-writer-running.ts'
import type { Writer } from './writer.ts'

/** A writer that ends at its nth commit. */
function mortalWriter(commits: number): Writer {
  let left = commits
  return {
    get hasEnded() {
      return left <= 0
    },
    async commit() {
      left -= 1
      if (left <= 0) throw new ServiceError('append_unknown')
      return []
    },
    erase: async () => undefined,
    close: async () => undefined,
  }
}

test('a thread that ended is replaced at the next commit; a start that fails is tried again', async () => {
  const starts = [mortalWriter(2), new ServiceError('store_unavailable'), mortalWriter(9)]
  const writer = await keepWriterRunning(async () => {
    const next = starts.shift()
    if (next === undefined || next instanceof ServiceError) throw next ?? new Error('started too often')
    return next
  })
  const commit = () =>
    writer.commit([], '2025-01-01T00:00:00.000Z').then(
      () => 'committed',
      (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
    )
  expect(await commit()).toBe('committed')
  expect(await commit()).toBe('append_unknown')
  expect(writer.hasEnded).toBe(true)
  expect(await commit()).toBe('store_unavailable')
  expect(await commit()).toBe('committed')
  expect(await commit()).toBe('committed')
})

test('one thread is started for all that find the last one ended, and closing waits for it', async () => {
  let started = 0
  let closed = 0
  const begun = Promise.withResolvers<void>()
  const writer = await keepWriterRunning(async () => {
    started += 1
    if (started > 1) await begun.promise
    return {
      ...mortalWriter(9),
      hasEnded: started === 1,
      close: async () => {
        closed = started
      },
    }
  })
  const all = [writer.commit([], ''), writer.erase('subject-1.0'), writer.commit([], '')]
  const closing = writer.close()
  begun.resolve()
  await Promise.all([...all, closing])
  expect({ started, closed }).toEqual({ started: 2, closed: 2 })
})
