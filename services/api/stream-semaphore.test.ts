import { describe, expect, test } from 'vitest'
import { createStreamSemaphore } from './stream-semaphore.ts'

const refusal = (take: () => unknown): string | undefined => {
  try {
    take()
    return undefined
  } catch (error) {
    return (error as { code?: string }).code
  }
}

describe('places', () => {
  test('are so many for an address, and so many in all', () => {
    const places = createStreamSemaphore({ what: 'replays', total: 3, perAddress: 2 })
    for (const address of ['192.0.2.1', '192.0.2.1', '192.0.2.2']) places.take(address)
    expect(refusal(() => places.take('192.0.2.1'))).toBe('rate_limited')
    expect(refusal(() => places.take('192.0.2.3'))).toBe('too_many_streams')
  })

  test('are free again once given back, each of them once', () => {
    const places = createStreamSemaphore({ what: 'replays', total: 2, perAddress: 2 })
    const first = places.take('192.0.2.1')
    places.take('192.0.2.1')
    first.given()
    first.given()
    expect(refusal(() => places.take('192.0.2.1'))).toBeUndefined()
    expect(refusal(() => places.take('192.0.2.1'))).toBe('rate_limited')
  })

  test('of one that is not limited take nothing from the others', () => {
    const places = createStreamSemaphore({ what: 'replays', total: 1, perAddress: 1 })
    for (let count = 0; count < 3; count++) places.take(undefined)
    expect(refusal(() => places.take('192.0.2.1'))).toBeUndefined()
  })
})

describe('the last places', () => {
  test('are for addresses that hold none', () => {
    const places = createStreamSemaphore({ what: 'replays', total: 10, perAddress: 8 })
    for (let n = 0; n < 8; n++) places.take('192.0.2.1')
    places.take('192.0.2.2')
    expect(refusal(() => places.take('192.0.2.2'))).toBe('too_many_streams')
    expect(refusal(() => places.take('192.0.2.3'))).toBeUndefined()
    expect(refusal(() => places.take('192.0.2.4'))).toBe('too_many_streams')
  })

  test('are counted by site: 65,536 networks of one customer are one caller', () => {
    const places = createStreamSemaphore({ what: 'replays', total: 10, perAddress: 2 })
    places.take('2001:db8:1:1:0:0:0:1')
    places.take('2001:db8:1:2:0:0:0:1')
    expect(refusal(() => places.take('2001:db8:1:3:0:0:0:1'))).toBe('rate_limited')
    expect(refusal(() => places.take('2001:db8:2:1:0:0:0:1'))).toBeUndefined()
  })
})
