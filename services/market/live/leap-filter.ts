import type { Candle } from '../../../contracts/domain/candle.ts'

/** Times the price before, or a part of it, that no bar of a traded contract has reached. */
const LEAP = 100

/** Bars in a row that must agree on the new price, before it is the price: of a contract that was split, say. */
const BELIEVED_AFTER = 3

/** Holds back prices that cannot be: a digit too many, or those of another contract. */
export function createLeapFilter() {
  let last: number | undefined
  let leapt: number | undefined
  let agreeing = 0

  function isBelieved(bar: Candle): boolean {
    agreeing = leapt !== undefined && !isLeap(leapt, bar) ? agreeing + 1 : 1
    leapt = bar.close
    return agreeing >= BELIEVED_AFTER
  }

  return {
    /** The bars of a page that may be told, and what is wrong with the others; undefined where nothing is. */
    pass(rows: readonly Candle[]): {
      readonly bars: readonly Candle[]
      readonly refused: string | undefined
    } {
      last ??= median(rows.map(({ close }) => close))
      const bars: Candle[] = []
      let refused: string | undefined
      for (const bar of rows) {
        if (isLeap(last ?? bar.close, bar) && !isBelieved(bar)) {
          refused ??= `prices from ${bar.low} to ${bar.high} after one of ${last}, at ${new Date(bar.openTime).toISOString()}`
          continue
        }
        last = bar.close
        leapt = undefined
        bars.push(bar)
      }
      return { bars, refused }
    },
  }
}

const isLeap = (price: number, { low, high }: Candle): boolean => high > price * LEAP || low * LEAP < price

const median = (values: readonly number[]): number | undefined =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
