import { isoTime } from '../../../contracts/iso-time.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { timeframeMs } from '../../../contracts/timeframes.ts'
import type { VerdictsMissing } from '../../../contracts/verdicts-missing.ts'
import type { Findings } from './finding.ts'

/**
 * An engine that dies while it records a bar, or a series closed by a fault until the next start, leaves a stretch of one series
 * without an engine that others have verdicts of. So often that is an accident; and by this share of the series' verdicts.
 */
const MOST_ACCIDENTS = 3
const MOST_SHARE = 0.01

interface LeftOut {
  readonly index: number
  readonly series: Series
  readonly from: number
  readonly to: number
}

const groupOf = ({ exchange, timeframe }: Series): string => `${exchange} ${timeframe}`

/** Compares stretches that are said to have had no engine with the verdicts of other series of the exchange and timeframe. */
export class Neighbours {
  /** Bars with a verdict, by exchange and timeframe. */
  readonly #bars = new Map<string, Set<number>>()
  readonly #verdicts = new Map<string, number>()
  readonly #leftOut: LeftOut[] = []

  takeVerdict(series: Series, barClose: number): void {
    const bars = this.#bars.get(groupOf(series)) ?? new Set<number>()
    this.#bars.set(groupOf(series), bars.add(barClose))
    const name = seriesName(series)
    this.#verdicts.set(name, (this.#verdicts.get(name) ?? 0) + 1)
  }

  /** @param followedSince when the series began to be followed without a break; undefined where it is not */
  takeMissing(index: number, missing: VerdictsMissing, followedSince: number | undefined): void {
    const { reason, from, to, exchange, coin, timeframe } = missing
    // A series that was not followed needs no verdicts, whether an engine ran or not.
    if (reason !== 'no_engine' || followedSince === undefined || from < followedSince) return
    this.#leftOut.push({ index, series: { exchange, coin, timeframe }, from, to })
  }

  end(findings: Findings): { readonly doubts: string[]; readonly unchecked: string[] } {
    let [accidents, alone] = [0, 0]
    for (const [name, stretches] of Map.groupBy(this.#leftOut, ({ series }) => seriesName(series))) {
      const series = stretches[0]?.series
      if (series !== undefined && !this.#hasNeighbours(series)) alone += stretches.length
      const found = stretches.flatMap((one) => this.#barOthersHave(one) ?? [])
      const isAccident =
        found.length <= Math.max(MOST_ACCIDENTS, MOST_SHARE * (this.#verdicts.get(name) ?? 0))
      if (isAccident) accidents += found.length
      else
        for (const { index, barClose } of found)
          findings.add(
            'engine_was_there',
            index,
            `${name} says that no engine ran; others of its exchange have verdicts of ${isoTime(barClose)}`,
          )
    }
    return {
      doubts:
        accidents === 0
          ? []
          : [`${accidents} stretches are said to have had no engine, and other series have verdicts of them`],
      unchecked:
        alone === 0
          ? []
          : [
              `whether an engine ran in ${alone} stretches that say none did: their series have no neighbours`,
            ],
    }
  }

  #hasNeighbours(series: Series): boolean {
    const { exchange, timeframe } = series
    return [...this.#verdicts.keys()].some(
      (other) =>
        other !== seriesName(series) && other.startsWith(`${exchange}.`) && other.endsWith(`.${timeframe}`),
    )
  }

  #barOthersHave({ index, series, from, to }: LeftOut) {
    const bars = this.#bars.get(groupOf(series))
    for (let barClose = from; barClose <= to; barClose += timeframeMs(series.timeframe))
      if (bars?.has(barClose) === true) return { index, barClose }
    return undefined
  }
}
