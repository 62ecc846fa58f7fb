import type { Timeframe } from '../../../contracts/timeframes.ts'
import type { ExtentScores } from '../../../services/engine/forecast/range-model.ts'
import { blockOf } from '../../../services/engine/scoring/call-columns.ts'
import { blockMean } from '../../../services/engine/scoring/intervals.ts'
import { solve } from '../logistic-fit.ts'
import { moveOf, type RangeFit, windowsUntil } from './fit-range.ts'
import { HAR_TERMS, type RangeSamples } from './range-samples.ts'

/** Terms of a forecast of the log extent of a window, beside its level. */
type Terms = (samples: RangeSamples, place: number) => readonly number[]

/** A forecast of log extent and of variance, fitted on windows that were over. */
type Contender = (
  samples: RangeSamples,
  place: number,
) => { readonly extent: number; readonly variance: number }

/** Small enough to change nothing, large enough for terms that are the same. */
const RIDGE = 1e-6

/** Least squares of the log extent on some terms, and the variance that went with it. */
function fitted(all: readonly RangeSamples[], until: number, terms: Terms): Contender {
  const rows = [...windowsUntil(all, until)].map(
    ([samples, place]) => [[1, ...terms(samples, place)], samples, place] as const,
  )
  const size = rows[0]?.[0].length ?? 1
  const matrix = new Float64Array(size * size)
  const right = new Float64Array(size)
  for (const [row, { extent }, place] of rows) {
    for (let at = 0; at < size; at++) {
      right[at] = (right[at] ?? 0) + (row[at] ?? 0) * Math.log(extent[place] ?? 1)
      for (let other = 0; other < size; other++)
        matrix[at * size + other] = (matrix[at * size + other] ?? 0) + (row[at] ?? 0) * (row[other] ?? 0)
    }
  }
  for (let at = 0; at < size; at++)
    matrix[at * size + at] = (matrix[at * size + at] ?? 0) + RIDGE * rows.length
  const weights = solve(matrix, right)
  const extentOf = (row: readonly number[]): number =>
    row.reduce((sum, value, at) => sum + value * (weights[at] ?? 0), 0)
  const ratios = rows.map(
    ([row, { variance }, place]) => (variance[place] ?? 0) / Math.exp(2 * extentOf(row)),
  )
  const perExtent = ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length
  return (samples, place) => {
    const extent = extentOf([1, ...terms(samples, place)])
    return { extent, variance: perExtent * Math.exp(2 * extent) }
  }
}

const harTerms: Terms = ({ har, season }, place) => [
  ...har.subarray(place * HAR_TERMS, (place + 1) * HAR_TERMS),
  season[place] ?? 0,
]

/** The forecasts that are compared, all fitted on the windows that were over at an instant. */
export function contendersAt(all: readonly RangeSamples[], until: number, fit: RangeFit) {
  const extents = [...windowsUntil(all, until)].map(([{ extent }, place]) => Math.log(extent[place] ?? 1))
  return {
    level: extents.reduce((sum, extent) => sum + extent, 0) / extents.length,
    own: fitted(all, until, (samples, place) => [Math.log(moveOf(fit, samples, place))]),
    ewma: fitted(all, until, ({ ewma }, place) => [Math.log(ewma[place] ?? 1)]),
    har: fitted(all, until, harTerms),
  }
}

const CONTENDERS = ['own', 'ewma', 'har'] as const

/** Collects how forecasts of the extent and of the variance of windows did, beside EWMA and HAR. */
export function createExtentScores(timeframe: Timeframe) {
  const errors = { own: [] as number[], ewma: [] as number[], har: [] as number[] }
  const losses = { own: [] as number[], ewma: [] as number[], har: [] as number[] }
  const blocks: number[] = []
  let total = 0
  return {
    add(samples: RangeSamples, place: number, contenders: ReturnType<typeof contendersAt>): void {
      const extent = Math.log(samples.extent[place] ?? 1)
      total += (extent - contenders.level) ** 2
      blocks.push(blockOf(timeframe, samples.barClose[place] ?? 0))
      for (const name of CONTENDERS) {
        const said = contenders[name](samples, place)
        errors[name].push((extent - said.extent) ** 2)
        const ratio = (samples.variance[place] ?? 0) / said.variance
        losses[name].push(ratio - Math.log(ratio) - 1)
      }
    },
    scores(): ExtentScores | undefined {
      const count = blocks.length
      if (count === 0) return undefined
      const mean = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / count
      const each = (of: (name: (typeof CONTENDERS)[number]) => number) => ({
        own: of('own'),
        ewma: of('ewma'),
        har: of('har'),
      })
      const ahead = ({ own, har }: typeof errors, unit: number) => {
        const gains = own.map((value, at) => ((har[at] ?? 0) - value) / unit)
        const { value, low, high } = blockMean(gains, blocks) ?? { value: 0, low: null, high: null }
        return { value, low, high }
      }
      return {
        r2: each((name) => 1 - (mean(errors[name]) * count) / total),
        qlike: each((name) => mean(losses[name])),
        r2AboveHar: ahead(errors, total / count),
        qlikeBelowHar: ahead(losses, mean(losses.har)),
      }
    },
  }
}
