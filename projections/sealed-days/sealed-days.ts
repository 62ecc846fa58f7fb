import { isoDay } from '../../contracts/domain/iso-time.ts'
import type { Exchange } from '../../contracts/domain/series.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import { type Position, START } from '../../contracts/infra/position.ts'
import type { Projection, Rows } from '../projection.ts'

/** One exchange on one UTC day, by the close of the bars. Key: {@link sealedDayKey}. */
export interface SealedDay extends JsonObject {
  readonly exchange: Exchange
  readonly date: string
  /** Its events are after this position, up to the other one. */
  readonly after: Position
  readonly upTo: Position
  readonly verdicts: number
  readonly outcomes: number
  /** Until when the last window is open, Unix milliseconds of market time. */
  readonly openUntil: number
  /** As it was sealed; null before. What comes later changes nothing. */
  readonly sealed: { readonly sha256: string; readonly rows: number; readonly bytes: number } | null
}

/** The manifest of a sealed day. Key: {@link sealedManifestKey}. */
export interface SealedManifestRow extends JsonObject {
  readonly manifest: string
  readonly sha256: string
}

interface Last extends JsonObject {
  readonly position: Position
}

export const SEALED_DAY_PREFIX = 'day/'
const LAST = 'last'

/** @example sealedDayKey('HL', '2026-01-31') === 'day/HL/2026-01-31' */
export const sealedDayKey = (exchange: Exchange, date: string): string =>
  `${SEALED_DAY_PREFIX}${exchange}/${date}`

export const sealedManifestKey = (exchange: Exchange, date: string): string => `manifest/${exchange}/${date}`

/** Which days can be sealed, where their events stand, and which were. */
export const sealedDays: Projection<SealedDay | SealedManifestRow | Last> = {
  name: 'sealed_days',
  version: 1,
  events: ['VerdictRecorded', 'OutcomeLabelled', 'DaySealed'],
  fold(rows, event) {
    if (event.type === 'DaySealed') {
      const { exchange, day, sha256, manifest, rows: count, bytes } = event.data
      const key = sealedDayKey(exchange, day)
      const before = rows.get(key) as SealedDay | undefined
      if (before?.sealed !== null) return
      rows.put(key, { ...before, sealed: { sha256, rows: count, bytes } })
      rows.put(sealedManifestKey(exchange, day), { manifest, sha256 })
      return
    }
    if (event.type !== 'VerdictRecorded' && event.type !== 'OutcomeLabelled') return
    const { exchange, barClose, validUntil } = event.data
    const date = isoDay(barClose)
    const day = dayOf(rows, exchange, date)
    rows.put(LAST, { position: event.position })
    if (day.sealed !== null) return
    const isVerdict = event.type === 'VerdictRecorded'
    rows.put(sealedDayKey(exchange, date), {
      ...day,
      upTo: event.position,
      verdicts: day.verdicts + (isVerdict ? 1 : 0),
      outcomes: day.outcomes + (isVerdict ? 0 : 1),
      openUntil: Math.max(day.openUntil, validUntil),
    })
  },
}

function dayOf(
  rows: Rows<SealedDay | SealedManifestRow | Last>,
  exchange: Exchange,
  date: string,
): SealedDay {
  const known = rows.get(sealedDayKey(exchange, date)) as SealedDay | undefined
  if (known !== undefined) return known
  const after = (rows.get(LAST) as Last | undefined)?.position ?? START
  return { exchange, date, after, upTo: after, verdicts: 0, outcomes: 0, openUntil: 0, sealed: null }
}
