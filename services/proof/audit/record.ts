import type { ServiceEvent } from '../../../contracts/event-catalogue.ts'
import { canonicalJson, type Json, type JsonObject } from '../../../contracts/json.ts'
import { type Rows, rowsInMemory, trackRecord } from '../../../projections/index.ts'
import type { Findings } from './finding.ts'

/** The grouping of the rows of a track record. */
export type RecordGrouping = 'timeframe' | 'series'

/** How many outcomes a published record counts, and how many of the log were counted again. */
interface Progress {
  readonly published: number
  counted: number
  /** Index of the first outcome that the record does not hold. */
  next: number | undefined
}

/**
 * Counts the outcomes of the log until they are as many as a published track record counts: it was read before the log.
 * Each series is counted apart, since its rows come page by page while the log grows.
 */
export class RecordCount {
  readonly #published: readonly JsonObject[]
  readonly #grouping: RecordGrouping
  readonly #rows = rowsInMemory<JsonObject>()
  readonly #progress = new Map<string, Progress>()

  constructor(published: readonly JsonObject[], grouping: RecordGrouping) {
    this.#published = published
    this.#grouping = grouping
    for (const row of published) {
      const key = this.#counterOf(keyOf(row))
      const before = this.#progress.get(key)?.published ?? 0
      this.#progress.set(key, { published: before + totalOf(row), counted: 0, next: undefined })
    }
  }

  readonly #counterOf = (key: string): string => (this.#grouping === 'series' ? key : '')

  take(index: number, event: ServiceEvent): void {
    if (event.type !== 'OutcomeLabelled') return
    const { modelVersion, exchange, coin, timeframe } = event.data
    const key = this.#counterOf(`${modelVersion} ${exchange} ${coin} ${timeframe}`)
    const progress = this.#progress.get(key) ?? { published: 0, counted: 0, next: undefined }
    this.#progress.set(key, progress)
    if (progress.counted === progress.published) {
      progress.next ??= index
      return
    }
    trackRecord.fold(this.#rows as unknown as Rows<never>, event)
    progress.counted += 1
  }

  /**
   * @param reported makes published rows of rows of the read model
   * @param settled entries before this index are over an hour old
   */
  check(
    reported: (rows: ReadonlyMap<string, JsonObject>, grouping: RecordGrouping) => readonly JsonObject[],
    settled: number,
    findings: Findings,
  ): void {
    const add = (index: number | null, message: string): void =>
      findings.add('flattering_track_record', index, message)
    const wrong = new Set<string>()
    for (const [key, { published, counted, next }] of this.#progress) {
      const name = `the track record${key === '' ? '' : ` of ${key}`}`
      if (counted !== published) {
        wrong.add(key)
        add(null, `${name} counts ${published} verdicts; the log has ${counted}`)
      } else if (next !== undefined && next < settled)
        add(
          next,
          `${name} stands still: this entry and those after it are missing, and it is over an hour old`,
        )
    }
    const counted = new Map(reported(this.#rows.entries, this.#grouping).map((row) => [keyOf(row), row]))
    const published = new Map(this.#published.map((row) => [keyOf(row), row]))
    for (const key of new Set([...published.keys(), ...counted.keys()])) {
      const [shown, own] = [published, counted].map((rows) => canonicalJson(rows.get(key) ?? null))
      if (shown !== own && !wrong.has(this.#counterOf(key)))
        add(null, `${key} is published as ${shown?.slice(0, 200)}; the outcomes say ${own?.slice(0, 200)}`)
    }
  }
}

/** The model of a row, with its series or its timeframe. */
function keyOf({ model_version: model, exchange, coin, timeframe }: JsonObject): string {
  return [model, exchange, coin, timeframe].filter((part) => typeof part === 'string').join(' ')
}

/** The verdicts of a row: numbers, however they are grouped. */
function totalOf({ verdicts, recorded_late }: JsonObject): number {
  const sum = (value: Json | undefined): number => {
    if (typeof value === 'number') return value
    return Object.values(value ?? {}).reduce<number>((total, one) => total + sum(one as Json), 0)
  }
  return sum(verdicts) + sum(recorded_late)
}
