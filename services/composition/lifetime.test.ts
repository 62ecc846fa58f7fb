import { pino } from 'pino'
import { expect, test } from 'vitest'
import { readSettings } from '../runtime/config/read-settings.ts'
import { beginLifetime } from './lifetime.ts'

const begin = () => beginLifetime(readSettings([], {}), pino({ level: 'silent' }))

test('a process ends calls and work first, then its parts, the last one opened first; one that fails keeps none open', async () => {
  const life = begin()
  const done: string[] = []
  const note = (name: string) => async () => {
    done.push(`${name}${life.signal.aborted ? '' : ' early'}${life.closing.aborted ? ' closing' : ''}`)
  }
  life.onClose(note('store'))
  life.onClose(async () => {
    await note('bus')()
    throw new Error('gone')
  })
  life.onClose(note('accounts'))
  life.onEnd(note('calls'))
  expect([life.signal.aborted, life.closing.aborted]).toEqual([false, false])
  await Promise.all([life.stop(), life.stop()])
  expect(done).toEqual(['calls', 'accounts closing', 'bus closing', 'store closing'])
})

test('nothing is opened in a process that ends, and calls are ended in one place', async () => {
  const life = begin()
  life.onEnd(async () => undefined)
  expect(() => life.onEnd(async () => undefined)).toThrow('calls and work are ended in one place')
  await life.stop()
  expect(() => life.onClose(async () => undefined)).toThrow('no part is opened in a process that ends')
})
