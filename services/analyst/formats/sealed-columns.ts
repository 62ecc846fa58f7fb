import type { JsonObject } from '../../../contracts/json.ts'
import type { Outcome } from '../../../contracts/outcome.ts'
import type { Position } from '../../../contracts/position.ts'
import type { SealedSchema } from '../../../contracts/sealed-manifest.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import { verdictRow } from '../../../contracts/verdict-row.ts'
import { type Column, column, VERDICT_COLUMNS } from './verdict-columns.ts'

/** A verdict with its outcome, by the names of the columns. */
export type SealedRow = JsonObject

/** Columns of a file as it was sealed by a schema; new ones join at the end. */
export const sealedColumns = (version: SealedSchema): readonly Column[] =>
  version < 3 ? COLUMNS : [...COLUMNS, column('closes_higher', 'number', true)]

const COLUMNS: readonly Column[] = [
  ...VERDICT_COLUMNS.filter(({ name }) => name !== 'cursor' && name !== 'closes_higher'),
  column('race', 'text'),
  column('entry_price', 'number', true),
  column('exit_price', 'number', true),
  column('highest', 'number', true),
  column('lowest', 'number', true),
  column('labelled_at', 'instant'),
  column('close_price', 'number', true),
  column('labelled_position', 'text'),
]

/** @param at when each was appended, ISO 8601; and where in the log the outcome is: figures are sums in that order */
export function sealedRow(
  verdict: Verdict,
  outcome: Outcome,
  at: { readonly recorded: string; readonly labelled: string; readonly position: Position },
): SealedRow {
  const { cursor: _cursor, ...row } = verdictRow(verdict, '', at.recorded, outcome.decidedAt)
  const { race, entryPrice, exitPrice, highest, lowest, closePrice } = outcome
  return {
    ...(row as unknown as JsonObject),
    race,
    entry_price: entryPrice,
    exit_price: exitPrice,
    highest,
    lowest,
    labelled_at: at.labelled,
    close_price: closePrice,
    labelled_position: at.position,
  }
}
