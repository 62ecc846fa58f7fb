import { describe, expect, test } from 'vitest'
import { nearestName } from './input-faults.ts'

describe('nearestName', () => {
  test.each([
    ['BTCC', 'BTC'],
    ['PEPE', '1000PEPE'],
    ['1000ETH', 'ETH'],
    ['DOGR', 'DOGE'],
    ['LNK', 'LINK'],
    ['doge', 'DOGE'],
    ['DGOE', 'DOGE'],
    ['AVALNCHE', 'AVALANCHE'],
  ])('%s was meant as %s', (given, meant) =>
    expect(nearestName(given, ['BTC', 'ETH', '1000PEPE', 'DOGE', 'LINK', 'AVALANCHE'])).toBe(meant),
  )

  test.each(['XY', 'SOLANA', 'ZZZZZZ', ''])('%j was meant as none of them', (given) =>
    expect(nearestName(given, ['BTC', 'ETH', 'SOL'])).toBeUndefined(),
  )

  test('of equally near names it is the first', () => {
    expect(nearestName('BTX', ['BTC', 'BTT'])).toBe('BTC')
    expect(nearestName('BTX', ['BTT', 'BTC'])).toBe('BTT')
  })
})
