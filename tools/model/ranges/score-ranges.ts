import { HOUR_MS } from '../../../contracts/timeframes.ts'
import { MEASURES, type RangeScores } from '../../../services/engine/forecast/range-model.ts'
import type { RangeSamples } from './range-samples.ts'

/** Sizes of moves that half, and four fifths, of all returns are to stay within. */
export interface Reach {
  readonly inner: number
  readonly outer: number
}

interface CellSum {
  count: number
  within: number
  readonly windowMs: number
  readonly barMs: number
}

/** Half of the pinball losses of the 10 % and the 90 % quantile of a range that reaches as far up as down. */
const pinball = (move: number, outer: number): number =>
  move > outer ? 0.9 * (move - outer) + 0.1 * (move + outer) : 0.2 * outer

/** Collects how ranges did beside others that are calibrated on the same bars. */
export function createRangeScores() {
  const sums = { forecasts: 0, outer: 0, inner: 0, own: 0, constant: 0, coin: 0, ewma: 0 }
  const cells = new Map<string, CellSum>()
  const coverage = createCoverage()
  let from = Number.POSITIVE_INFINITY
  let to = 0
  return {
    add(
      { coin, move: moves, barClose, windowMs, measures, season }: RangeSamples,
      place: number,
      barMs: number,
      own: Reach,
      others: { readonly constant: number; readonly coin: number; readonly ewma: number },
    ): void {
      const move = moves[place] ?? 0
      const at = barClose[place] ?? 0
      from = Math.min(from, at)
      to = Math.max(to, at)
      sums.forecasts += 1
      if (move <= own.inner) sums.inner += 1
      if (move <= own.outer) sums.outer += 1
      sums.own += pinball(move, own.outer)
      sums.constant += pinball(move, others.constant)
      sums.coin += pinball(move, others.coin)
      sums.ewma += pinball(move, others.ewma)
      const name = `${coin} ${new Date(at).getUTCFullYear()}`
      const cell = cells.get(name) ?? { count: 0, within: 0, windowMs, barMs }
      cell.count += 1
      if (move <= own.outer) cell.within += 1
      cells.set(name, cell)
      const usual = 0.5 * ((season[place] ?? 0) + (measures[place * MEASURES + MEASURES - 1] ?? 0))
      coverage.add(at, Math.log(own.outer) - usual, move <= own.outer ? 1 : 0)
    },
    scores(): RangeScores | undefined {
      if (sums.forecasts === 0) return undefined
      return {
        from,
        to,
        forecasts: sums.forecasts,
        coverage80: sums.outer / sums.forecasts,
        coverage50: sums.inner / sums.forecasts,
        belowConstant: 1 - sums.own / sums.constant,
        belowCoinConstant: 1 - sums.own / sums.coin,
        belowEwma: 1 - sums.own / sums.ewma,
        cells: cells.size,
        cellsOutside: [...cells]
          .filter(([, sum]) => isOutside(sum))
          .map(told)
          .toSorted(),
        coinYears: coinYearsOf([...cells.values()]),
        ...coverage.scores(),
      }
    },
  }
}

/** Collects coverage by how wide the range is beside what is usual, and by the hour of the close. */
function createCoverage() {
  const byHour = Array.from({ length: 6 }, () => ({ count: 0, within: 0 }))
  const widths: (readonly [number, number])[] = []
  return {
    add(closes: number, width: number, isWithin: number): void {
      widths.push([width, isWithin])
      const hour = byHour[Math.floor((closes / (4 * HOUR_MS)) % 6)]
      if (hour === undefined) return
      hour.count += 1
      hour.within += isWithin
    },
    scores(): Pick<RangeScores, 'fifths' | 'hours'> {
      const sorted = widths.toSorted(([a], [b]) => a - b)
      return {
        fifths: Array.from({ length: 5 }, (_, fifth) => {
          const part = sorted.slice((fifth * sorted.length) / 5, ((fifth + 1) * sorted.length) / 5)
          return part.reduce((sum, [, isWithin]) => sum + isWithin, 0) / Math.max(1, part.length)
        }),
        hours: byHour.map(({ count, within }) => within / Math.max(1, count)),
      }
    },
  }
}

/** Coins in years of 30 windows or more, and those that are covered as wanted. */
function coinYearsOf(cells: readonly CellSum[]): RangeScores['coinYears'] {
  const whole = cells.filter(({ count, windowMs, barMs }) => count >= (30 * windowMs) / barMs)
  const within = whole.filter((cell) => Math.abs(cell.within / cell.count - WANTED) <= NEAR)
  return { all: whole.length, within: within.length }
}

const NORMAL_99 = 2.576
const WANTED = 0.8
const NEAR = 0.04
const [LOWEST, HIGHEST] = [0.74, 0.86]

const told = ([name, { within, count }]: readonly [string, CellSum]): string =>
  `${name}: ${((100 * within) / count).toFixed(0)} %`

/** Whether coverage is neither near what is wanted nor within the 99 % interval that as many windows apart have by luck. */
function isOutside({ count, within, windowMs, barMs }: CellSum): boolean {
  const coverage = within / count
  const apart = Math.max(1, (count * barMs) / windowMs)
  const luck = NORMAL_99 * Math.sqrt((WANTED * (1 - WANTED)) / apart)
  return (coverage < LOWEST || coverage > HIGHEST) && Math.abs(coverage - WANTED) > luck
}
