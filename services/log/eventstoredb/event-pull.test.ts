import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { type EventSource, pullEvents } from './event-pull.ts'

/** A call as the client makes one: its end comes only once what was sent has been taken. */
function aCall(change: Partial<EventSource> = {}) {
  const stream = new PassThrough({ objectMode: true, highWaterMark: 4 })
  let cancels = 0
  const pull = pullEvents({
    stream,
    cancel: () => {
      cancels += 1
      stream.end()
      return Promise.resolve()
    },
    ...change,
  })
  return { stream, pull, cancels: () => cancels }
}

const event = (revision: number): object => ({ event: { revision } })

describe('what is pulled', () => {
  test('comes in order and whole, and then the end', async () => {
    const pull = pullEvents({
      stream: Readable.from([1, 2, 3].map(event)),
      cancel: () => Promise.resolve(),
    })
    const taken: unknown[] = []
    while (!pull.ended) {
      const next = pull.take()
      if (next === undefined) await pull.change()
      else taken.push(next)
    }
    expect(taken).toEqual([1, 2, 3].map(event))
  })

  test('comes before the error behind it, which is thrown at each further try', async () => {
    const { stream, pull } = aCall()
    stream.write(event(1))
    await pull.change()
    expect(pull.take()).toEqual(event(1))
    stream.destroy(new Error('dropped'))
    await pull.change()
    expect(() => pull.take()).toThrow('dropped')
    expect(() => pull.take()).toThrow('dropped')
  })
})

describe('a cancelled call', () => {
  test('ends, although nobody takes what was sent already or comes still', async () => {
    const { stream, pull, cancels } = aCall()
    for (let revision = 0; revision < 4; revision++) stream.write(event(revision))
    // Sent by the server before it heard of the end, and more than the stream holds.
    const late = Readable.from([4, 5, 6, 7, 8, 9].map(event))
    const ended = once(stream, 'end')
    pull.cancel()
    late.pipe(stream, { end: false })
    await ended
    expect(cancels()).toBe(1)
    expect(pull.ready).toBe(0)
    expect(pull.ended).toBe(true)
  })

  test('that could not be made tells whoever waits, and ends nothing else', async () => {
    const { pull } = aCall({ cancel: () => Promise.reject(new Error('no channel')) })
    const change = pull.change()
    pull.cancel()
    await change
    expect(() => pull.take()).toThrow('no channel')
  })
})
