import type { Coin } from './series.ts'

/** What a contract is of, and how many of it one unit of its price is for. */
export interface AssetShare {
  readonly asset: Coin
  readonly multiple: number
}

/** Written before or behind the name, as `1000PEPE` and `SHIB1000`. */
const COUNTED = /^(1000000|100000|10000|1000|100)(?=[A-Z])|(?<=[A-Z])(1000000|10000|1000)$/
/** A million, where what is left is a name: `1MBABYDOGE`. */
const MILLION = /^1M(?=[A-Z]{3,})/
/** HL writes a thousand as `k`, which is part of the name in KAVA and KSM. */
const THOUSANDS: ReadonlySet<Coin> = new Set(
  ['PEPE', 'BONK', 'SHIB', 'FLOKI', 'LUNC', 'NEIRO', 'DOGS'].map((asset) => `K${asset}`),
)

/**
 * The asset behind a contract: venues list coins of very small prices by the thousand or more, each in its own way.
 * Rates of funding are of the value and the same for either; prices are not.
 *
 * @example assetOf('1000PEPE') // { asset: 'PEPE', multiple: 1_000 }, and so of KPEPE
 */
export function assetOf(coin: Coin): AssetShare {
  if (THOUSANDS.has(coin)) return { asset: coin.slice(1), multiple: 1_000 }
  if (MILLION.test(coin)) return { asset: coin.replace(MILLION, ''), multiple: 1_000_000 }
  const count = COUNTED.exec(coin)?.[0]
  return count === undefined
    ? { asset: coin, multiple: 1 }
    : { asset: coin.replace(COUNTED, ''), multiple: Number(count) }
}
