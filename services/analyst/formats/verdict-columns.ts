import type { VerdictRow } from '../../../contracts/verdict-row.ts'

/** How the values of a column are written where a format has types. */
export type ColumnKind = 'text' | 'uuid' | 'integer' | 'number' | 'instant' | 'boolean' | 'json'

/** A value of its own, or the list of factors. */
export type VerdictColumn =
  | { readonly name: Exclude<keyof VerdictRow, 'factors'>; readonly kind: Exclude<ColumnKind, 'json'> }
  | { readonly name: 'factors'; readonly kind: 'json' }

const column = (
  name: Exclude<keyof VerdictRow, 'factors'>,
  kind: Exclude<ColumnKind, 'json'> = 'text',
): VerdictColumn => ({ name, kind })

/** The columns of an exported verdict, in the order of its row. Every value is always there. */
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
]
