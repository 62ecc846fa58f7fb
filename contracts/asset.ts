import type { Coin } from './series.ts'

/** The asset of a contract, and how many of it one unit of its price buys. */
export interface AssetShare {
  readonly asset: Coin
  readonly multiple: number
}

/** Written before or after the name, as `1000PEPE` and `SHIB1000`. */
const COUNTED = /^(1000000|100000|10000|1000|100)(?=[A-Z])|(?<=[A-Z])(1000000|10000|1000)$/
/** A million, where what is left is a name: `1MBABYDOGE`. */
const MILLION = /^1M(?=[A-Z]{3,})/
/** HL writes a thousand as `k`, which is part of the name in KAVA and KSM. */
const THOUSANDS: ReadonlySet<Coin> = new Set(
  ['PEPE', 'BONK', 'SHIB', 'FLOKI', 'LUNC', 'NEIRO', 'DOGS'].map((asset) => `K${asset}`),
)

/**
 * Coins that were renamed one for one, by announcement of their issuers: no list of contracts says so. Those with
 * another ratio (MKR to SKY, GAL to G) are other assets, since a unit of them is worth something else.
 */
const RENAMED: ReadonlyMap<Coin, Coin> = new Map([
  ['RNDR', 'RENDER'], // Render Network, its move to Solana, 2023–2024
  ['MATIC', 'POL'], // Polygon Labs, 4 September 2024
  ['KLAY', 'KAIA'], // Klaytn and Finschia, October 2024
  ['FTM', 'S'], // Fantom to Sonic, January 2025
  ['BNX', 'FORM'], // BinaryX to Four, March 2025
  ['EOS', 'A'], // EOS to Vaulta, May 2025
])

/**
 * The asset behind a contract: venues list coins of very small prices by the thousand or more, each in its own way.
 * Rates of funding are of the value and the same for either; prices are not. A coin that was renamed is the asset that
 * it became, for venues take the new name at different times. A name is a guess all the same, since others take short
 * and former names for coins of their own: pairs of contracts are confirmed by their prices.
 *
 * @example assetOf('1000PEPE') // { asset: 'PEPE', multiple: 1_000 }, and so of KPEPE
 */
export function assetOf(coin: Coin): AssetShare {
  const { asset, multiple } = shareOf(coin)
  return { asset: RENAMED.get(asset) ?? asset, multiple }
}

function shareOf(coin: Coin): AssetShare {
  if (THOUSANDS.has(coin)) return { asset: coin.slice(1), multiple: 1_000 }
  if (MILLION.test(coin)) return { asset: coin.replace(MILLION, ''), multiple: 1_000_000 }
  const count = COUNTED.exec(coin)?.[0]
  return count === undefined
    ? { asset: coin, multiple: 1 }
    : { asset: coin.replace(COUNTED, ''), multiple: Number(count) }
}
