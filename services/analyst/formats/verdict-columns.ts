import type { VerdictRow } from '../../../contracts/answers/verdict-row.ts'

/** How the values of a column are written where a format has types. */
export type ColumnKind = 'text' | 'uuid' | 'integer' | 'number' | 'instant' | 'boolean' | 'json'

export interface Column<Name extends string = string> {
  readonly name: Name
  readonly kind: ColumnKind
  /** Whether a row may have null there. */
  readonly isOptional: boolean
}

export const column = <const Name extends string>(
  name: Name,
  kind: ColumnKind = 'text',
  isOptional = false,
): Column<Name> => ({ name, kind, isOptional })

/** The columns of an exported verdict, in the order of its row. */
export const VERDICT_COLUMNS: readonly Column<keyof VerdictRow>[] = [
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
  column('factors', 'json'),
  column('reasoning'),
  column('model_version'),
  column('anchor_bar', 'instant'),
  column('inputs_hash'),
  column('shifted_from'),
  column('bars_missed', 'integer'),
  column('recorded_as'),
  column('expected_range', 'json', true),
  column('expected_volatility', 'number', true),
  column('visible_at', 'instant'),
  column('decided_at', 'instant', true),
  column('race', 'text', true),
  column('entry_price', 'number', true),
  column('exit_price', 'number', true),
  column('close_price', 'number', true),
  column('exit_at', 'instant', true),
  column('net_bps', 'number', true),
]
