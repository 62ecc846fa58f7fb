import { describe, expect, test } from 'vitest'
import type { ServiceError } from '../../../contracts/errors/errors.ts'
import { createPlaces, createStreamPlaces, type PlacesOptions } from './places.ts'

type By = Partial<Record<'address' | 'account', string>>

/** Places, and what taking one came to. */
function world(change: Partial<PlacesOptions<'address' | 'account'>> = {}) {
  const time = { now: 0 }
  const places = createPlaces({
    total: 10,
    each: { address: 2, account: 3 },
    lost: { afterMs: 5_000, elapsed: () => time.now },
    ...change,
  })
  const take = ({ address, account }: By, lose?: () => void) => places.take({ address, account }, lose)
  const outcome = (by: By): string => {
    const taken = take(by)
    return taken.give === undefined ? `${taken.full} ${taken.held}` : 'taken'
  }
  return { time, take, outcome }
}

describe('places', () => {
  test('are so many in each way that is counted, and so many in all', () => {
    const { outcome } = world({ total: 5 })
    expect(['a', 'a', 'a'].map((address) => outcome({ address }))).toEqual(['taken', 'taken', 'address 2'])
    expect(['b', 'c', 'd'].map((address) => outcome({ address, account: '1' }))).toEqual(
      Array(3).fill('taken'),
    )
    expect(outcome({ address: 'e', account: '1' })).toBe('account 3')
    expect(outcome({ address: 'e' })).toBe('all 5')
  })

  test('are free again once given back, each of them once', () => {
    const { take, outcome } = world()
    const first = take({ address: 'a', account: '1' })
    expect(outcome({ address: 'a' })).toBe('taken')
    first.give?.()
    first.give?.()
    expect([outcome({ address: 'a' }), outcome({ address: 'a' })]).toEqual(['taken', 'address 2'])
  })

  test('of one that is refused in one way take nothing in another', () => {
    const { outcome } = world({ each: { address: 1, account: 1 } })
    expect(outcome({ address: 'a', account: '1' })).toBe('taken')
    expect(outcome({ address: 'b', account: '1' })).toBe('account 1')
    expect(outcome({ address: 'b', account: '2' })).toBe('taken')
  })
})

test('the last places are for who holds none', () => {
  const { outcome } = world({ each: { address: 8, account: 8 }, keptShare: 5 })
  for (let n = 0; n < 8; n++) expect(outcome({ address: 'a' })).toBe('taken')
  expect(outcome({ address: 'b', account: '1' })).toBe('taken')
  expect(outcome({ address: 'b' })).toBe('all 9')
  expect(outcome({ address: 'c', account: '1' })).toBe('all 9')
  expect(outcome({ address: 'c' })).toBe('taken')
  expect(outcome({ address: 'd' })).toBe('all 10')
})

describe('a place whose holder waits', () => {
  test('goes to who finds none, the one that has waited longest first, and only once it has waited long', () => {
    const { take, outcome, time } = world({ total: 3 })
    const lost: string[] = []
    const [a, b] = ['a', 'b', 'c'].map((address) => take({ address }, () => lost.push(address)))
    if (a?.give === undefined || b?.give === undefined) throw new Error('there is room')
    b.waits(true)
    time.now = 1_000
    a.waits(true)
    time.now = 4_999
    expect(outcome({ address: 'd' })).toBe('all 3')
    time.now = 6_000
    expect(outcome({ address: 'd' })).toBe('taken')
    expect(lost).toEqual(['b'])
    b.give()
    expect(outcome({ address: 'c' })).toBe('all 3')
    expect(outcome({ address: 'e' })).toBe('taken')
    expect(lost).toEqual(['b', 'a'])
    expect(outcome({ address: 'f' })).toBe('all 3')
  })

  test('stays with who has gone on', () => {
    const { take, outcome, time } = world({ total: 1 })
    const a = take({ address: 'a' })
    if (a.give === undefined) throw new Error('there is room')
    a.waits(true)
    time.now = 9_000
    a.waits(false)
    expect(outcome({ address: 'b' })).toBe('all 1')
  })
})

test('streams are refused for who asks, and for want of room', () => {
  const places = createStreamPlaces('replays', { total: 5, each: { address: 2 } })
  const refusal = (address: string): unknown => {
    try {
      places.take({ address })
      return undefined
    } catch (error) {
      const { code, message, details } = error as ServiceError
      return { code, message, details }
    }
  }
  expect(['a', 'a'].map(refusal)).toEqual([undefined, undefined])
  expect(refusal('a')).toMatchObject({ code: 'rate_limited', details: { limit: 2, per: 'address' } })
  expect(['b', 'c'].map(refusal)).toEqual([undefined, undefined])
  expect(refusal('b')).toMatchObject({
    code: 'overloaded',
    message: expect.stringContaining('hold none'),
  })
  expect(['d', 'e'].map(refusal)).toEqual([undefined, expect.objectContaining({ code: 'overloaded' })])
})
