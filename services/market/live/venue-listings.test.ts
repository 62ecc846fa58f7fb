import { expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { createVenueListings, type VenueMarket } from './venue-listings.ts'

const market = (coin: string, isTraded = true): VenueMarket => ({
  coin,
  symbol: `${coin}/USDT:USDT`,
  contractSize: 1,
  fundingHours: undefined,
  isTraded,
})

function bench() {
  let time = 0
  const listings = createVenueListings(() => time)
  return {
    listings,
    list: (at: number, ...markets: VenueMarket[]): void => {
      time = at
      listings.takeList(markets)
    },
  }
}

test('a coin that a list lacks, or has as suspended, is not traded, but its contract is known', () => {
  const { listings, list } = bench()
  list(0, market('BTC'), market('ETH'), market('SOL'))
  list(HOUR_MS, market('BTC'), market('ETH', false))
  expect([...listings.traded().keys()]).toEqual(['BTC'])
  expect(listings.find('SOL')).toEqual(market('SOL'))
  expect(listings.find('ETH')).toEqual(market('ETH', false))
  expect(listings.find('DOGE')).toBeUndefined()
})

test('it is gone when lists have lacked it for a day, and not any more when one has it again', () => {
  const { listings, list } = bench()
  list(0, market('BTC'), market('ETH'))
  for (let hour = 1; hour < 24; hour++) list(hour * HOUR_MS, market('BTC'), market('ETH', false))
  expect(listings.isGone('ETH')).toBe(false)
  list(DAY_MS, market('BTC'))
  expect([listings.isGone('ETH'), listings.isGone('BTC')]).toEqual([true, false])
  // What was never listed is gone by then too: nobody knows of it.
  expect(listings.isGone('DOGE')).toBe(true)
  list(DAY_MS + HOUR_MS, market('BTC'), market('ETH'))
  expect(listings.isGone('ETH')).toBe(false)
})

test('it is not gone while its bars come, nor for one list after a long sleep, nor before any list', () => {
  const { listings, list } = bench()
  expect(listings.isGone('BTC')).toBe(false)
  list(0, market('BTC'), market('ETH'))
  list(5 * DAY_MS, market('BTC'))
  expect(listings.isGone('ETH')).toBe(false)
  listings.takeBar('ETH', 5 * DAY_MS + HOUR_MS)
  for (let hour = 1; hour < 25; hour++) list(5 * DAY_MS + hour * HOUR_MS, market('BTC'))
  expect(listings.isGone('ETH')).toBe(false)
  list(6 * DAY_MS + HOUR_MS, market('BTC'))
  expect(listings.isGone('ETH')).toBe(true)
})
