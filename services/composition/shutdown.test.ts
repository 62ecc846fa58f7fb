import { expect, test } from 'vitest'
import { createShutdown } from './shutdown.ts'

const begin = () => createShutdown({ error: () => undefined })

test('a process ends calls and work first, then its parts, the last one opened first; one that fails keeps none open', async () => {
  const shutdown = begin()
  const done: string[] = []
  const note = (name: string) => async () => {
    done.push(
      `${name}${shutdown.drainSignal.aborted ? '' : ' early'}${shutdown.stopSignal.aborted ? ' closing' : ''}`,
    )
  }
  shutdown.onClose(note('store'))
  shutdown.onClose(async () => {
    await note('bus')()
    throw new Error('gone')
  })
  shutdown.onClose(note('accounts'))
  shutdown.onDrain(note('calls'))
  expect([shutdown.drainSignal.aborted, shutdown.stopSignal.aborted]).toEqual([false, false])
  await Promise.all([shutdown.stop(), shutdown.stop()])
  expect(done).toEqual(['calls', 'accounts closing', 'bus closing', 'store closing'])
})

test('nothing is opened in a process that ends, and calls are ended in one place', async () => {
  const shutdown = begin()
  shutdown.onDrain(async () => undefined)
  expect(() => shutdown.onDrain(async () => undefined)).toThrow('calls and work are ended in one place')
  await shutdown.stop()
  expect(() => shutdown.onClose(async () => undefined)).toThrow('no part is opened in a process that ends')
})
