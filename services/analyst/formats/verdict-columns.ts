import type { VerdictRow } from '../../../contracts/verdict-row.ts'

/** How the values of a column are written where a format has types. */
export type ColumnKind = 'text' | 'uuid' | 'integer' | 'number' | 'instant' | 'boolean' | 'json'

/** Columns whose values have parts. */
type Structured = 'factors' | 'expected_range'

/** A value of its own, or one with parts. */
export type VerdictColumn = (
  | { readonly name: Exclude<keyof VerdictRow, Structured>; readonly kind: Exclude<ColumnKind, 'json'> }
  | { readonly name: Structured; readonly kind: 'json' }
) & {
  /** Whether a row may have null there. */
  readonly isOptional?: true
}

const column = (
  name: Exclude<keyof VerdictRow, Structured>,
  kind: Exclude<ColumnKind, 'json'> = 'text',
): VerdictColumn => ({ name, kind })

/** The columns of an exported verdict, in the order of its row. */
export const VERDICT_COLUMNS: readonly VerdictColumn[] = [
  column('cursor'),
  column('verdict_id', 'uuid'),
  column('exchange'),
  column('coin'),
  column('timeframe'),
  column('bar_close', 'instant'),
  column('valid_until', 'instant'),
  column('recorded_at', 'instant'),
  column('call'),
  column('confidence', 'integer'),
  column('strength', 'integer'),
  column('probability', 'number'),
  column('regime'),
  column('regime_since', 'instant'),
  column('regime_strength', 'integer'),
  column('volatility_percentile', 'number'),
  column('price', 'number'),
  column('barrier', 'number'),
  { name: 'factors', kind: 'json' },
  column('reasoning'),
  column('model_version'),
  column('anchor_bar', 'instant'),
  column('inputs_hash'),
  column('shifted_from'),
  column('bars_missed', 'integer'),
  column('recorded_late', 'boolean'),
  { name: 'expected_range', kind: 'json', isOptional: true },
  { name: 'expected_volatility', kind: 'number', isOptional: true },
  column('visible_at', 'instant'),
  { name: 'decided_at', kind: 'instant', isOptional: true },
]
