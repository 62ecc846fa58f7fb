import type { ServiceEvent } from '../../../contracts/event-catalogue.ts'
import { canonicalJson, type Json, type JsonObject } from '../../../contracts/json.ts'
import type { Outcome } from '../../../contracts/outcome.ts'
import { type Rows, rowsInMemory, trackRecord } from '../../../projections/index.ts'
import type { Findings } from './finding.ts'

/** The grouping of the rows of a track record. */
export type RecordGrouping = 'timeframe' | 'series'

/** How many outcomes a record has to hold, and how many of them were counted. */
interface Progress {
  readonly wanted: number
  counted: number
  /** The first event that it does not hold. */
  left: number | undefined
}

/**
 * Counts what a published record counts, in the order of the log, until there are as many: it was read before the log. Each series
 * is counted for itself, since its rows come page by page while the log goes on.
 *
 * @param said its rows
 */
export function recountRecord(said: readonly JsonObject[], grouping: RecordGrouping) {
  const rows = rowsInMemory<JsonObject>()
  const progress = new Map<string, Progress>()
  for (const row of said) {
    const key = grouping === 'series' ? keyOf(row) : ''
    const wanted = (progress.get(key)?.wanted ?? 0) + totalOf(row)
    progress.set(key, { wanted, counted: 0, left: undefined })
  }

  function progressOf({ modelVersion, exchange, coin, timeframe }: Outcome): Progress {
    const key = grouping === 'series' ? `${modelVersion} ${exchange} ${coin} ${timeframe}` : ''
    const found = progress.get(key) ?? { wanted: 0, counted: 0, left: undefined }
    progress.set(key, found)
    return found
  }

  return {
    take(index: number, event: ServiceEvent): void {
      if (event.type !== 'OutcomeLabelled') return
      const record = progressOf(event.data)
      if (record.counted >= record.wanted) {
        record.left ??= index
        return
      }
      trackRecord.fold(rows as unknown as Rows<never>, event)
      record.counted += 1
    },
    /**
     * @param reported the published form of such rows
     * @param settled entries before this one were there an hour before the newest
     */
    check(
      reported: (rows: ReadonlyMap<string, JsonObject>, grouping: RecordGrouping) => readonly JsonObject[],
      settled: number,
      findings: Findings,
    ): void {
      const add = (index: number | null, message: string): void =>
        findings.add('flattering_track_record', index, message)
      const name = (key: string): string => (key === '' ? 'the track record' : `the track record of ${key}`)
      for (const [key, { wanted, counted, left }] of progress) {
        if (counted !== wanted)
          add(null, `${name(key)} counts ${wanted} verdicts; the log has ${counted} up to there`)
        else if (left !== undefined && left < settled)
          add(left, `${name(key)} stands still: it has nothing from this entry on, which is over an hour old`)
      }
      const isWhole = (key: string): boolean => progress.get(key)?.counted === progress.get(key)?.wanted
      const found = new Map(reported(rows.entries, grouping).map((row) => [keyOf(row), row]))
      for (const row of said) {
        const own = found.get(keyOf(row))
        if (!isWhole(grouping === 'series' ? keyOf(row) : '')) continue
        if (canonicalJson(own ?? null) !== canonicalJson(row))
          add(null, `${keyOf(row)} is published as ${short(row)}; the outcomes say ${short(own ?? null)}`)
        found.delete(keyOf(row))
      }
      if (grouping === 'timeframe' && isWhole(''))
        for (const key of found.keys()) add(null, `${key} is not published; the log has outcomes of it`)
    },
  }
}

/** The model of a row, with its series or its timeframe. */
function keyOf({ model_version: model, exchange, coin, timeframe }: JsonObject): string {
  return [model, exchange, coin, timeframe].filter((part) => typeof part === 'string').join(' ')
}

function totalOf(row: JsonObject): number {
  const sum = (value: Json | undefined): number =>
    typeof value === 'number'
      ? value
      : value !== null && typeof value === 'object'
        ? Object.values(value).reduce<number>((all, one) => all + sum(one), 0)
        : 0
  return sum(row.verdicts) + sum(row.recorded_late)
}

const short = (row: Json): string => canonicalJson(row).slice(0, 200)
