import { expect, test } from 'vitest'
import { createStreamPlaces } from './stream-places.ts'

const refusal = (take: () => unknown): unknown => {
  try {
    take()
    return undefined
  } catch (error) {
    return (error as { readonly code?: string }).code
  }
}

test('places for streams are counted by site: 65,536 networks of one customer are one caller', () => {
  const places = createStreamPlaces('replays', { total: 3, each: { address: 2 } })
  places.take({ address: '2001:db8:1:1:0:0:0:1' })
  places.take({ address: '2001:db8:1:2:0:0:0:1' })
  expect(refusal(() => places.take({ address: '2001:db8:1:3:0:0:0:1' }))).toBe('rate_limited')
  expect(refusal(() => places.take({ address: '2001:db8:2:1:0:0:0:1' }))).toBeUndefined()
  expect(refusal(() => places.take({ address: '192.0.2.1' }))).toBe('too_many_streams')
})
