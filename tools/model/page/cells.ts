import type { Skill } from '../../../services/engine/model.ts'
import type { Measure } from '../../../services/engine/scoring/intervals.ts'

/** The timeframe whose probabilities are shown beside what happened. */
export const SHOWN_TIMEFRAME = '1h'

/** As many digits as a model is written with. */
const PARAMETER_DIGITS = 6

export const parameter = (value: number | undefined): string =>
  String(Number((value ?? Number.NaN).toFixed(PARAMETER_DIGITS)))

export const grouped = (value: number): string => value.toLocaleString('en')

/** "0.540 [0.527, 0.552]", in units of `factor`; empty where nothing was measured. */
export function interval(measure: Measure | null, digits: number, factor = 1): string {
  if (measure === null) return ''
  const { value, low, high } = measure
  const text = (number: number): string => (factor * number).toFixed(digits)
  return low === null || high === null ? text(value) : `${text(value)} [${text(low)}, ${text(high)}]`
}

/** Whether the bars that chose nothing tell a timeframe from a coin. */
export const isConfirmed = ({ measured }: Skill): boolean => (measured?.untouchedAuc?.low ?? 0) > 0.5

/** The mark of a timeframe that they do not tell from one. */
export const confirmed = (skill: Skill): string => (isConfirmed(skill) ? '' : '; *unconfirmed*')

export const table = (header: readonly string[], rows: readonly (readonly string[])[]): string =>
  [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
