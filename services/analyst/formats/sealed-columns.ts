import { verdictRow } from '../../../contracts/answers/verdict-row.ts'
import type { Outcome } from '../../../contracts/domain/outcome.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import type { Position } from '../../../contracts/infra/position.ts'
import { type Column, column, VERDICT_COLUMNS } from './verdict-columns.ts'

/** A verdict with its outcome, by the names of the columns. */
export type SealedRow = JsonObject

/** Columns of a sealed file: those of a replay, and what only the log has of the outcome. */
export const SEALED_COLUMNS: readonly Column[] = [
  ...VERDICT_COLUMNS.filter(({ name }) => name !== 'cursor'),
  column('highest', 'number', true),
  column('lowest', 'number', true),
  column('labelled_at', 'instant'),
  column('labelled_position', 'text'),
]

/** @param at when each was appended, ISO 8601; and where in the log the outcome is: figures are sums in that order */
export function sealedRow(
  verdict: Verdict,
  outcome: Outcome,
  at: { readonly recorded: string; readonly labelled: string; readonly position: Position },
): SealedRow {
  const { cursor: _cursor, ...row } = verdictRow(verdict, '', at.recorded, outcome)
  const { highest, lowest } = outcome
  return { ...row, highest, lowest, labelled_at: at.labelled, labelled_position: at.position }
}
