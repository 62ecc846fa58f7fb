import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createInProcessBus } from './in-process-bus.ts'

describe('in-process bus', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })

  afterEach(() => {
    vi.useRealTimers()
  })

  const { signal } = new AbortController()
  const options = { now: () => Date.now(), report: () => undefined }

  it('drops the oldest messages of a consumer that stays away, past its bound', async () => {
    const bus = createInProcessBus({ ...options, backlogBytes: 4_096 })
    const leaving = new AbortController()
    bus.consume({ name: 'away', subjects: ['signal.a'], signal: leaving.signal })
    leaving.abort()
    for (let index = 0; index < 100; index++) {
      await bus.publish({ id: `m${index}`, subject: 'signal.a', body: index })
    }
    const bodies: unknown[] = []
    for await (const message of bus.consume({ name: 'away', subjects: ['signal.a'], signal })) {
      bodies.push(message.body)
      message.ack()
      if (message.body === 99) break
    }
    expect(bodies.length).toBeLessThan(20)
    expect(bodies).toEqual(Array.from({ length: bodies.length }, (_, index) => 100 - bodies.length + index))
    await bus.close()
  })

  it('delivers again exactly when the acknowledgement time is over, to whoever is there', async () => {
    const bus = createInProcessBus({ ...options, ackWaitMs: 1_000 })
    const one = bus.consume({ name: 'x', subjects: ['signal.a'], signal })[Symbol.asyncIterator]()
    await bus.publish({ id: 'm', subject: 'signal.a', body: 1 })
    expect((await one.next()).value).toMatchObject({ id: 'm', redelivered: false })
    let again: unknown
    const arrival = (async () => {
      again = (await one.next()).value
    })()
    await vi.advanceTimersByTimeAsync(999)
    expect(again).toBeUndefined()
    await vi.advanceTimersByTimeAsync(1)
    await arrival
    expect(again).toMatchObject({ id: 'm', redelivered: true })
    await bus.close()
  })

  it('passes over a message that waited unread past its time, and delivers it once when asked', async () => {
    const bus = createInProcessBus({ ...options, ackWaitMs: 1_000 })
    const slow = bus.consume({ name: 'x', subjects: ['signal.a'], signal, maxInFlight: 1 })
    await bus.publish({ id: 'm', subject: 'signal.a', body: 1 })
    await vi.advanceTimersByTimeAsync(5_000)
    const messages = slow[Symbol.asyncIterator]()
    const { value } = await messages.next()
    expect(value).toMatchObject({ id: 'm', redelivered: true })
    value?.ack()
    expect(await bus.health()).toMatchObject({ detail: '0 messages waiting' })
    await bus.close()
  })
})
