import { DAY_MS } from '../../contracts/domain/timeframes.ts'
import { ENDED, type Samples } from './samples.ts'
import { blockMean, type Measure } from './statistics.ts'

/** The results of calls that do not overlap, beside what other sides make of the same instants. */
export interface CallRecord {
  readonly calls: number
  readonly days: number
  readonly sellShare: number
  /** Shares of the decided calls. */
  readonly won: Measure
  readonly buyWon: Measure
  readonly sellWon: Measure
  readonly randomSides: number
  readonly alwaysSell: number
  /** Won above what the other does at the same instants. */
  readonly overRandom: Measure
  readonly overSell: Measure
  /** Shares of all calls: ended in favour, and closed on the called side. */
  readonly inFavour: Measure
  readonly closes: Measure
  /** Mean return before costs, as a fraction. */
  readonly gross: Measure
}

/** Places of calls of a period whose windows do not overlap within their series. */
export function callsApart(samples: Samples, calls: Int8Array, from: number, to: number): number[] {
  const apart: number[] = []
  let [free, series] = [0, -1]
  for (let place = 0; place < samples.count; place++) {
    const time = samples.at('time', place)
    if (samples.at('series', place) !== series) free = 0
    series = samples.at('series', place)
    const isOutside = time < from || time + samples.windowMs > to
    if (calls[place] === 0 || time < free || isOutside || samples.at('ended', place) === ENDED.incomplete)
      continue
    apart.push(place)
    free = time + samples.windowMs
  }
  return apart
}

export const isDecided = (samples: Samples, place: number): boolean =>
  Math.abs(samples.at('ended', place)) === 1

/** Won by each decided call, above what as many BUY and SELL at random win at the same instants. */
export function overRandomSides(samples: Samples, calls: Int8Array, decided: readonly number[]): number[] {
  const upShare = decided.filter((place) => samples.at('ended', place) === ENDED.up).length / decided.length
  return decided.map((place) => {
    const call = calls[place] ?? 0
    const won = samples.at('ended', place) === call ? 1 : 0
    return won - (call > 0 ? upShare : 1 - upShare)
  })
}

export function recordOf(samples: Samples, calls: Int8Array, places: readonly number[]): CallRecord {
  const decided = places.filter((place) => isDecided(samples, place))
  const callAt = (place: number): number => calls[place] ?? 0
  const mean = (some: readonly number[], value: (place: number) => number): Measure =>
    blockMean(
      some.map(value),
      some.map((place) => samples.blockOf(place)),
    )
  const isUp = (place: number): number => (samples.at('ended', place) === ENDED.up ? 1 : 0)
  const won = (place: number): number => (samples.at('ended', place) === callAt(place) ? 1 : 0)
  const buys = decided.filter((place) => callAt(place) > 0)
  const upShare = decided.reduce((sum, place) => sum + isUp(place), 0) / decided.length
  const buyShare = buys.length / decided.length
  const gained = (place: number): number =>
    samples.at('ended', place) === ENDED.both
      ? -samples.at('barrier', place)
      : callAt(place) * samples.at('decidedReturn', place)
  const whole = places.filter((place) => !Number.isNaN(samples.at('windowReturn', place)))
  return {
    calls: places.length,
    days: new Set(places.map((place) => Math.floor(samples.at('time', place) / DAY_MS))).size,
    sellShare: places.filter((place) => callAt(place) < 0).length / places.length,
    won: mean(decided, won),
    buyWon: mean(buys, won),
    sellWon: mean(
      decided.filter((place) => callAt(place) < 0),
      won,
    ),
    randomSides: buyShare * upShare + (1 - buyShare) * (1 - upShare),
    alwaysSell: 1 - upShare,
    overRandom: blockMean(
      overRandomSides(samples, calls, decided),
      decided.map((place) => samples.blockOf(place)),
    ),
    overSell: mean(decided, (place) => won(place) - (1 - isUp(place))),
    inFavour: mean(places, (place) => (gained(place) > 0 ? 1 : 0)),
    closes: mean(whole, (place) => (callAt(place) * samples.at('windowReturn', place) > 0 ? 1 : 0)),
    gross: mean(places, gained),
  }
}
