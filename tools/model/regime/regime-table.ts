import { UNDONE_WITHIN_BARS } from './label-changes.ts'
import { AHEAD_BARS, type RegimeMeasures } from './measure-regime.ts'
import type { Foresight } from './volatility-foresight.ts'

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`
const interval = ({ auc, margin }: Foresight): string => `${auc.toFixed(3)} ± ${margin.toFixed(3)}`

/** A row of the printed table, and how to read its cell. */
const ROWS: readonly (readonly [string, (measures: RegimeMeasures) => string])[] = [
  ['bars', (measures) => measures.bars.toLocaleString('en')],
  ['changes of direction a day', (measures) => measures.changes.perDay.toFixed(2)],
  [`changes undone within ${UNDONE_WITHIN_BARS} bars`, (measures) => percent(measures.changes.undoneShare)],
  ['changes of the word a day', ({ wordChanges }) => wordChanges.perDay.toFixed(2)],
  [
    `changes of the word undone within ${UNDONE_WITHIN_BARS} bars`,
    ({ wordChanges }) => percent(wordChanges.undoneShare),
  ],
  ['changes of ADX above 25 a day', (measures) => measures.adxChanges.perDay.toFixed(2)],
  [
    `ADX changes undone within ${UNDONE_WITHIN_BARS} bars`,
    (measures) => percent(measures.adxChanges.undoneShare),
  ],
  ['turns of the zigzag', (measures) => measures.turns.toLocaleString('en')],
  ['bars from a turn to the label, median', (measures) => measures.medianLagBars.toFixed(0)],
  ['turns the label missed', (measures) => percent(measures.missedShare)],
  ["bars on the zigzag's side", (measures) => percent(measures.rightShare)],
  ['bars against it', (measures) => percent(measures.wrongShare)],
  [`TRENDING_UP: higher ${AHEAD_BARS} bars later`, (measures) => percent(measures.upHitShare)],
  [`TRENDING_DOWN: lower ${AHEAD_BARS} bars later`, (measures) => percent(measures.downHitShare)],
  ['volatility AUC, against recent bars', ({ volatility }) => interval(volatility.recent)],
  ['volatility AUC, against all bars', ({ volatility }) => interval(volatility.overall)],
  ['bars called VOLATILE', ({ volatileShare }) => percent(volatileShare)],
  ['AUC of VOLATILE, against recent bars', ({ volatileWord }) => interval(volatileWord)],
  ['livelier than lately: AUC of VOLATILE', ({ livelier }) => interval(livelier.volatileWord)],
  ['livelier than lately: AUC of `volatility_percentile`', ({ livelier }) => interval(livelier.percentile)],
  ['livelier than lately: AUC of `liveliness`', ({ livelier }) => interval(livelier.liveliness)],
]

/** Histories side by side, one column each, as a Markdown table. */
export function regimeTable(
  columns: readonly { readonly title: string; readonly measures: RegimeMeasures }[],
): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [
    line(['measure', ...columns.map(({ title }) => title)]),
    line(['---', ...columns.map(() => '---')]),
    ...ROWS.map(([name, read]) => line([name, ...columns.map(({ measures }) => read(measures))])),
  ].join('\n')
}
