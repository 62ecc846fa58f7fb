import { isoDay } from '../../../contracts/iso-time.ts'
import type { Series } from '../../../contracts/series.ts'
import type { VerdictModel } from '../../engine/index.ts'

export interface FittedOn {
  /**
   * `in_sample`: on bars of these markets and this time; `same_time`: on other markets at this time;
   * `out_of_sample`: on neither.
   */
  readonly relation: 'in_sample' | 'same_time' | 'out_of_sample'
  readonly text: string
}

interface Period {
  /** Unix milliseconds. */
  readonly from: number
  readonly to: number
}

const span = ({ from, to }: Period): string => `${isoDay(from)} to ${isoDay(to)}`
const hull = (periods: readonly Period[]): Period => ({
  from: Math.min(...periods.map(({ from }) => from)),
  to: Math.max(...periods.map(({ to }) => to)),
})
const overlap = (a: Period, b: Period): boolean => a.from < b.to && b.from < a.to

/** Whether scores over a period say anything about bars that a model has not seen. */
export function fittedOn(
  { version, provenance }: Pick<VerdictModel, 'version' | 'provenance'>,
  series: readonly Series[],
  period: Period,
): FittedOn {
  const seen = provenance.series.filter(
    (used) =>
      overlap(used, period) &&
      series.some(({ exchange, coin }) => exchange === used.exchange && coin === used.coin),
  )
  if (seen.length > 0) {
    const markets = Map.groupBy(seen, ({ exchange, coin }) => `${exchange} ${coin}`)
    const names = [...markets].map(([name, used]) => `${name} (${span(hull(used))})`)
    return {
      relation: 'in_sample',
      text: `In sample: ${version} was fitted on bars of this period, of ${names.join(', ')}. These scores are better than it can be expected to be; docs/model.md has those on bars it was not fitted on.`,
    }
  }
  if (overlap(provenance, period)) {
    return {
      relation: 'same_time',
      text: `Partly in sample: ${version} was fitted on other markets of this time (${span(provenance)}), and coins move together. These scores are kind.`,
    }
  }
  return {
    relation: 'out_of_sample',
    text: `Out of sample: ${version} was fitted on bars from ${span(provenance)}, and this period lies outside.`,
  }
}
