import { expect, test } from 'vitest'
import { assetOf } from './series.ts'

test.each([
  ['PEPE', 'PEPE', 1],
  ['1000PEPE', 'PEPE', 1_000],
  ['KPEPE', 'PEPE', 1_000],
  ['10000SATS', 'SATS', 10_000],
  ['1000000MOG', 'MOG', 1_000_000],
  ['1MBABYDOGE', 'BABYDOGE', 1_000_000],
  ['SHIB1000', 'SHIB', 1_000],
  // Renamed one for one, also where it is counted by the thousand.
  ['MATIC', 'POL', 1],
  ['1000FTM', 'S', 1_000],
  // Names that only look so.
  ['1INCH', '1INCH', 1],
  ['KAVA', 'KAVA', 1],
  ['K', 'K', 1],
  ['1000', '1000', 1],
  ['C98', 'C98', 1],
])('a contract of %s is of %s, %d of it', (coin, asset, multiple) => {
  expect(assetOf(coin)).toEqual({ asset, multiple })
})
