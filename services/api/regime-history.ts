import type { z } from 'zod'
import type { regimeShiftsAnswerSchema } from '../../contracts/regime-shift-row.ts'
import type { Series } from '../../contracts/series.ts'
import type { RegimeShiftPage, RegimeShiftQuery } from '../analyst/index.ts'

/** The shifts of a series, from the read model of this process. */
export type RegimeShiftReader = (query: Omit<RegimeShiftQuery, 'now'>) => RegimeShiftPage

type RegimeShiftsAnswer = z.infer<typeof regimeShiftsAnswerSchema>

const NOTICE =
  'Shifts of the regime, each from the verdict before it in the series, once the window of its verdict has closed. A regime describes what was, and is no forecast. It is information, not advice.'

/** A page of the history of a series' regimes, as every channel tells it. */
export function regimeHistory(
  read: RegimeShiftReader,
  { after, limit, ...series }: Series & { readonly limit: number; readonly after?: string | undefined },
): RegimeShiftsAnswer {
  const page = read({ series, limit, ...(after !== undefined && { before: Number(after) }) })
  const next = page.next === undefined ? null : String(page.next)
  return { notice: NOTICE, as_of: page.asOf, rows: [...page.rows], next }
}
