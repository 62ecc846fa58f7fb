import { describe, expect, test } from 'vitest'
import { createPlaces } from './places.ts'

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
    const places = createPlaces({ what: 'replays', total: 3, perAddress: 2 })
    for (const address of ['192.0.2.1', '192.0.2.1', '192.0.2.2']) places.take(address)
    expect(refusal(() => places.take('192.0.2.1'))).toBe('rate_limited')
    expect(refusal(() => places.take('192.0.2.3'))).toBe('too_many_streams')
  })

  test('are free again once given back, each of them once', () => {
    const places = createPlaces({ what: 'replays', total: 2, perAddress: 2 })
    const first = places.take('192.0.2.1')
    places.take('192.0.2.1')
    first.given()
    first.given()
    expect(refusal(() => places.take('192.0.2.1'))).toBeUndefined()
    expect(refusal(() => places.take('192.0.2.1'))).toBe('rate_limited')
  })

  test('of one that is not limited take nothing from the others', () => {
    const places = createPlaces({ what: 'replays', total: 1, perAddress: 1 })
    for (let count = 0; count < 3; count++) places.take(undefined)
    expect(refusal(() => places.take('192.0.2.1'))).toBeUndefined()
  })
})
