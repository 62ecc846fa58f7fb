import { isoTime } from '../../contracts/iso-time.ts'
import { canonicalJson, type JsonObject } from '../../contracts/json.ts'
import type { Position } from '../../contracts/position.ts'
import { INCIDENT_KINDS, type StatusAnswer, type StatusContent } from '../../contracts/status-answer.ts'
import {
  type DrillRow,
  GAPS_PREFIX,
  type GapsRow,
  type IncidentsRow,
  incidentsKey,
  NEWEST_DRILL,
} from '../../projections/index.ts'

export interface StatusOptions {
  readonly version: string
  /** The read model of losses. */
  readonly rows: {
    get(key: string): JsonObject | undefined
    range(range: { readonly prefix: string; readonly limit: number }): readonly { readonly row: JsonObject }[]
    position(): Position
  }
  /** Processes that hold shared work, by their release; null while nobody can know. */
  readonly versions: () => Promise<StatusContent['service']['versions']>
  readonly backup: () => { readonly takenAt: string; readonly position: number } | undefined
  /** A note over a line of text; undefined where this process has no key of the log. */
  readonly sign: (line: string) => string | undefined
  readonly now: () => number
}

const NOTICE =
  'Bars without a verdict, and incidents that matter to those who rely on the record, as the log itself records them.'
/** As many as there are exchanges, and room for more. */
const MOST_EXCHANGES = 64
/** Requests within this time share one answer. */
const KEPT_MS = 2_000

/** The public status, signed with the keys of its transparency log. */
export function createStatus(options: StatusOptions): () => Promise<StatusAnswer> {
  let kept: { readonly since: number; readonly answer: Promise<StatusAnswer> } | undefined
  return () => {
    const at = options.now()
    if (kept === undefined || at - kept.since >= KEPT_MS || at < kept.since)
      kept = { since: at, answer: signedStatus(options, at) }
    return kept.answer
  }
}

async function signedStatus({ rows, ...options }: StatusOptions, at: number): Promise<StatusAnswer> {
  const [versions, backup] = [await options.versions(), options.backup()]
  const content: StatusContent = {
    notice: NOTICE,
    as_of: isoTime(at),
    position: rows.position(),
    service: {
      version: options.version,
      versions,
      processes: versions && versions.reduce((sum, { processes }) => sum + processes, 0),
    },
    gaps: rows.range({ prefix: GAPS_PREFIX, limit: MOST_EXCHANGES }).map(({ row }) => row as GapsRow),
    incidents: INCIDENT_KINDS.flatMap(
      (kind) => (rows.get(incidentsKey(kind)) as IncidentsRow | undefined) ?? [],
    ),
    backup:
      backup === undefined
        ? null
        : {
            taken_at: backup.takenAt,
            position: backup.position,
            age_hours: Math.max(0, Math.round((at - Date.parse(backup.takenAt)) / 360_000) / 10),
          },
    drill: (rows.get(NEWEST_DRILL) as DrillRow | undefined) ?? null,
  }
  return { ...content, note: options.sign(canonicalJson(content)) ?? null }
}
