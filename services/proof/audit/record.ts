import type { ServiceEvent } from '../../../contracts/events/event-catalogue.ts'
import { canonicalJson, type JsonObject } from '../../../contracts/infra/json.ts'
import { rowsInMemory, type TrackRecord, trackRecord } from '../../../projections/index.ts'
import type { Findings } from './finding.ts'

/** The grouping of the rows of a track record. */
export type RecordGrouping = 'timeframe' | 'series'

/** Makes the published row of one of the read model. */
export type ReportRow = (row: TrackRecord) => JsonObject

interface Counted {
  readonly row: JsonObject | null
  /** Outcomes that the row holds, and how many of the log were counted again. */
  readonly published: number
  counted: number
  /** Index of the first outcome that the row does not hold. */
  next?: number
}

/**
 * Counts a published track record again. It was read before the log, so each of its rows holds the first outcomes of the
 * log that belong to it, as many as it says.
 */
export class RecordCount {
  readonly #grouping: RecordGrouping
  readonly #rows = rowsInMemory<TrackRecord>()
  readonly #counts: Map<string, Counted>

  constructor(published: readonly JsonObject[], grouping: RecordGrouping) {
    this.#grouping = grouping
    this.#counts = new Map(published.map((row) => [keyOf(row), { row, published: totalOf(row), counted: 0 }]))
  }

  take(index: number, event: ServiceEvent): void {
    if (event.type !== 'OutcomeLabelled') return
    const { modelVersion: model_version, exchange, coin, timeframe } = event.data
    const about = { model_version, ...(this.#grouping === 'series' && { exchange, coin }), timeframe }
    const key = keyOf(about)
    const count = this.#counts.get(key) ?? { row: null, published: 0, counted: 0 }
    this.#counts.set(key, count)
    if (count.counted === count.published) return void (count.next ??= index)
    trackRecord.fold(this.#rows, event)
    count.counted += 1
  }

  /** @param settled entries before this index are over an hour old */
  check(report: ReportRow, settled: number, findings: Findings): void {
    const rows = [...this.#rows.entries].filter(([key]) => key.startsWith(`${this.#grouping}/`))
    const own = new Map(rows.map(([, row]) => report(row)).map((row) => [keyOf(row), row]))
    const add = (index: number | null, message: string): void =>
      findings.add('flattering_track_record', index, message)
    for (const [key, { row, published, counted, next }] of this.#counts) {
      const name = `the track record of ${key}`
      const [shown, right] = [row, own.get(key) ?? null].map((one) => canonicalJson(one))
      if (counted !== published) add(null, `${name} counts ${published} verdicts; the log has ${counted}`)
      else if (next !== undefined && next < settled)
        add(next, `${name} stands still: this entry is missing and over an hour old, and so are later ones`)
      if (counted === published && shown !== right)
        add(null, `${name} is published as ${shown?.slice(0, 200)}; the outcomes say ${right?.slice(0, 200)}`)
    }
  }
}

/** The model of a row, with its series or its timeframe. */
const keyOf = ({ model_version: model, exchange, coin, timeframe }: JsonObject): string =>
  [model, exchange, coin, timeframe].filter((part) => typeof part === 'string').join(' ')

/** Outcomes of a row, those of late verdicts included. */
const totalOf = ({ verdicts, recorded_late }: JsonObject): number =>
  [verdicts, ...Object.values(recorded_late ?? {})].reduce<number>((sum, count) => sum + Number(count), 0)
