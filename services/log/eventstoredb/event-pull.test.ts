import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { pullEvents, type ReadCall } from './event-pull.ts'

/** A call as the client makes one: its end comes only once what was sent has been taken. */
function aCall() {
  const stream = new PassThrough({ objectMode: true, highWaterMark: 4 })
  let cancels = 0
  const cancel = (): void => {
    cancels += 1
    stream.end()
  }
  const pull = pullEvents(Promise.resolve(Object.assign(stream, { cancel })))
  return { stream, pull, cancels: () => cancels }
}

const event = (revision: number): object => ({ event: { revision } })
const aReading = (events: object[]): ReadCall =>
  Object.assign(Readable.from(events), { cancel: () => undefined })

const changeOf = ({ changes }: ReturnType<typeof pullEvents>) =>
  changes.wait(changes.count, new AbortController().signal)

async function takeAll(pull: ReturnType<typeof pullEvents>): Promise<unknown[]> {
  const taken: unknown[] = []
  while (!pull.ended) {
    const next = pull.take()
    if (next === undefined) await changeOf(pull)
    else taken.push(next)
  }
  return taken
}

describe('what is pulled', () => {
  test('comes in order and whole, and then the end', async () => {
    const events = Array.from({ length: 1_000 }, (_, revision) => event(revision))
    expect(await takeAll(pullEvents(Promise.resolve(aReading(events))))).toEqual(events)
  })

  test('comes before the error behind it, which is thrown at each further try', async () => {
    const { stream, pull } = aCall()
    stream.write(event(1))
    await changeOf(pull)
    expect(pull.take()).toEqual(event(1))
    stream.destroy(new Error('dropped'))
    await changeOf(pull)
    expect(() => pull.take()).toThrow('dropped')
    expect(() => pull.take()).toThrow('dropped')
  })

  test('is left with the server while nobody takes it', async () => {
    const { stream, pull } = aCall()
    let sent = 0
    while (stream.write(event(sent))) {
      sent += 1
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(sent).toBeLessThan(100)
    stream.end()
    expect(await takeAll(pull)).toEqual(Array.from({ length: sent + 1 }, (_, revision) => event(revision)))
  })
})

test('a call that is given up from outside gives what has come, and no more than that', async () => {
  const pulls = new Set<(error: unknown) => void>()
  let sent = 0
  const endless = new Readable({ objectMode: true, read: () => void endless.push(event(sent++)) })
  const pull = pullEvents(Promise.resolve(Object.assign(endless, { cancel: () => undefined })), pulls)
  await changeOf(pull)
  for (const giveUp of pulls) giveUp(new Error('another node leads by now'))
  const takeAllOf = (): void => {
    while (pull.take() !== undefined);
  }
  expect(takeAllOf).toThrow('another node leads')
  expect(sent).toBeLessThan(200)
  pull.cancel()
  endless.destroy()
})

describe('a cancelled call', () => {
  test('ends, although nobody takes what was sent already or comes still', async () => {
    const { stream, pull, cancels } = aCall()
    for (let revision = 0; revision < 4; revision++) stream.write(event(revision))
    // Sent by the server before it heard of the end, and more than the stream holds.
    const late = Readable.from(Array.from({ length: 200 }, (_, n) => event(4 + n)))
    const ended = once(stream, 'end')
    pull.cancel()
    late.pipe(stream, { end: false })
    await ended
    expect(cancels()).toBe(1)
    expect(pull.take()).toBeUndefined()
    expect(pull.ended).toBe(true)
  })

  test('that could not be made tells whoever waits, and ends nothing else', async () => {
    const opening = Promise.withResolvers<ReadCall>()
    const pull = pullEvents(opening.promise)
    const change = changeOf(pull)
    pull.cancel()
    opening.reject(new Error('no channel'))
    await change
    expect(() => pull.take()).toThrow('no channel')
  })

  test('that is made afterwards is ended', async () => {
    const opening = Promise.withResolvers<ReadCall>()
    const pull = pullEvents(opening.promise)
    pull.cancel()
    const ended = new Promise((resolve) => {
      opening.resolve(Object.assign(Readable.from([event(1)]), { cancel: () => resolve('ended') }))
    })
    expect(await ended).toBe('ended')
  })
})
