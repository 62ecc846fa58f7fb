import { createHash } from 'node:crypto'
import { closeSync, fsyncSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { SEALED_SCHEMA, type SealedFileName, type SealedManifest } from '../../../contracts/answers/sealed.ts'
import { isoDay } from '../../../contracts/domain/iso-time.ts'
import type { Series } from '../../../contracts/domain/series.ts'
import { TIMEFRAMES } from '../../../contracts/domain/timeframes.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { decodeEvent, type MarketKind } from '../../../contracts/events/event-catalogue.ts'
import { outcomeStream, verdictStream } from '../../../contracts/events/streams.ts'
import type { Revision } from '../../../contracts/infra/event.ts'
import { comparePositions, earlier, later } from '../../../contracts/infra/position.ts'
import type { SealedDay } from '../../../projections/index.ts'
import type { EventStore } from '../../log/event-store.ts'
import { SEALED_COLUMNS, type SealedRow, sealedRow } from '../formats/sealed-columns.ts'

/** A day as files; the same events give the same bytes. */
export interface SealedFiles {
  readonly rows: number
  readonly files: Readonly<Record<SealedFileName, { readonly bytes: number; readonly sha256: string }>>
}

/** Rows that a file may have: a day of the largest venue, with all its coins at all timeframes, has a quarter. */
const MOST_ROWS = 5_000_000

type Day = Pick<SealedDay, 'exchange' | 'date' | 'after' | 'upTo'>

/** A day, and by their streams the series that it has. */
export interface FoundDay extends Day {
  readonly stretches: ReadonlyMap<string, Stretch>
}

/**
 * Makes the files of a day whose windows have closed, from the log. It holds the verdicts of a row
 * group, however many a day has.
 *
 * @param folder of this attempt alone; made where it is not there
 * @throws ServiceError `payload_too_large` for a day with more rows than a file may have
 */
export async function sealDay(
  store: EventStore,
  day: FoundDay,
  folder: string,
  signal: AbortSignal,
): Promise<SealedFiles> {
  const { encodeSealedCsv, encodeSealedParquet } = await import('../formats/encode-sealed.ts')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const parquet = openFile(join(folder, 'verdicts.parquet'))
  const csv = openFile(join(folder, 'verdicts.csv.gz'))
  try {
    const encoders = [encodeSealedParquet(parquet.take, day), encodeSealedCsv(csv.take)]
    let rows = 0
    for await (const row of rowsOf(store, day, signal)) {
      rows += 1
      if (rows > MOST_ROWS)
        throw new ServiceError('payload_too_large', {
          message: `${day.exchange} has more than ${MOST_ROWS} verdicts on ${day.date}`,
        })
      for (const encoder of encoders) await encoder.add(row)
    }
    for (const encoder of encoders) await encoder.finish()
    return { rows, files: { 'verdicts.parquet': parquet.end(), 'verdicts.csv.gz': csv.end() } }
  } finally {
    for (const file of [parquet, csv]) file.close()
  }
}

/** A file that is hashed as it is written. */
function openFile(path: string) {
  const file = openSync(path, 'w', 0o600)
  const sum = createHash('sha256')
  let bytes = 0
  return {
    take(this: void, part: Uint8Array): void {
      for (let done = 0; done < part.length; ) done += writeSync(file, part, done)
      sum.update(part)
      bytes += part.length
    },
    end() {
      fsyncSync(file)
      return { bytes, sha256: sum.digest('hex') }
    },
    close: () => closeSync(file),
  }
}

/** Which of the events of a stream are of a day: those between these are, and perhaps others. */
interface Stretch {
  readonly series: Series
  readonly from: Revision
  to: Revision
}

/** Verdicts with outcomes, neighbours alike: what is asked for by series or timeframe lies together, and packs better. */
async function* rowsOf(
  store: EventStore,
  day: FoundDay,
  signal: AbortSignal,
): AsyncGenerator<SealedRow, void, void> {
  const { stretches } = day
  const outcomes = [...stretches].filter(([stream, { series }]) => stream === outcomeStream(series))
  for (const [stream, stretch] of outcomes.toSorted(([, a], [, b]) => inOrder(a.series, b.series))) {
    const verdicts = stretches.get(verdictStream(stretch.series))
    if (verdicts === undefined) continue
    yield* rowsOfSeries(store, { day, signal, verdicts, outcomes: { ...stretch, stream } })
  }
}

/**
 * Goes through the log once for some days, and keeps no more of it than where their series are: series that went through
 * their past one after another have a day all over the log.
 */
export async function findDays<Sought extends Day>(
  store: EventStore,
  days: readonly Sought[],
  signal: AbortSignal,
): Promise<(Sought & FoundDay)[]> {
  const found = days.map((day) => ({ ...day, stretches: new Map<string, Stretch>() }))
  const byName = new Map(found.map((day) => [`${day.exchange} ${day.date}`, day]))
  const exchanges = [...new Set(days.map(({ exchange }) => exchange))]
  const filter = {
    types: ['VerdictRecorded', 'OutcomeLabelled'],
    streamPrefixes: exchanges.flatMap((exchange) => [`verdict-${exchange}.`, `outcome-${exchange}.`]),
  }
  const after = days.map((day) => day.after).reduce(earlier)
  const upTo = days.map((day) => day.upTo).reduce(later)
  for await (const recorded of store.readAll({ after, upTo, filter, signal })) {
    const { type, data } = decodeEvent(recorded)
    if (type !== 'VerdictRecorded' && type !== 'OutcomeLabelled') continue
    const { exchange, coin, timeframe } = data
    const { stream, revision, position } = recorded
    const day = byName.get(`${exchange} ${isoDay(data.barClose)}`)
    if (day === undefined || comparePositions(position, day.after) <= 0) continue
    if (comparePositions(position, day.upTo) > 0) continue
    const known = day.stretches.get(stream)
    if (known !== undefined) known.to = revision
    else day.stretches.set(stream, { series: { exchange, coin, timeframe }, from: revision, to: revision })
  }
  return found
}

async function* rowsOfSeries(
  store: EventStore,
  about: {
    readonly day: Day
    readonly signal: AbortSignal
    readonly verdicts: Stretch
    readonly outcomes: Stretch & { readonly stream: string }
  },
): AsyncGenerator<SealedRow, void, void> {
  const { day, signal, verdicts, outcomes } = about
  const waiting = new Map<string, { readonly verdict: Verdict; readonly recorded: string }>()
  const { from, to } = verdicts
  for await (const recorded of store.read(verdictStream(verdicts.series), { from, to, signal })) {
    const event = decodeEvent(recorded)
    if (event.type === 'VerdictRecorded' && isoDay(event.data.barClose) === day.date)
      waiting.set(event.id, { verdict: event.data, recorded: recorded.at })
  }
  const rows: SealedRow[] = []
  const read = { from: outcomes.from, to: outcomes.to, signal }
  for await (const recorded of store.read(outcomes.stream, read)) {
    const event = decodeEvent(recorded)
    if (event.type !== 'OutcomeLabelled') continue
    const found = waiting.get(event.data.verdictId)
    if (found === undefined) continue
    waiting.delete(event.data.verdictId)
    const at = { recorded: found.recorded, labelled: recorded.at, position: recorded.position }
    rows.push(sealedRow(found.verdict, event.data, at))
  }
  yield* rows.toSorted((a, b) => compare(a.bar_close, b.bar_close))
}

const PLACES: ReadonlyMap<unknown, number> = new Map(TIMEFRAMES.map((timeframe, place) => [timeframe, place]))

const inOrder = (a: Series, b: Series): number =>
  (PLACES.get(a.timeframe) ?? 0) - (PLACES.get(b.timeframe) ?? 0) || compare(a.coin, b.coin)

const compare = (a: unknown, b: unknown): number =>
  String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0

/** The manifest of a sealed day, which never changes. */
export const manifestOf = (
  { rows, files }: SealedFiles,
  day: Day,
  about: { readonly market: MarketKind; readonly checkpoint: SealedManifest['checkpoint'] },
): SealedManifest => ({
  schema_version: SEALED_SCHEMA,
  market: about.market,
  exchange: day.exchange,
  date: day.date,
  rows,
  columns: SEALED_COLUMNS.map(({ name, kind }) => ({ name, type: kind })),
  files: (Object.keys(files) as SealedFileName[]).map((name) => ({
    name,
    ...files[name],
  })),
  after: day.after,
  up_to: day.upTo,
  checkpoint: about.checkpoint,
})
