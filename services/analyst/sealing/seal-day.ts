import { hash } from 'node:crypto'
import { ServiceError } from '../../../contracts/errors.ts'
import { decodeEvent, type MarketKind } from '../../../contracts/event-catalogue.ts'
import type { SealedFileName, SealedManifest } from '../../../contracts/sealed-manifest.ts'
import { TIMEFRAMES } from '../../../contracts/timeframes.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import type { SealedDay } from '../../../projections/index.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import { encodeSealedCsv, encodeSealedParquet } from '../formats/encode-sealed.ts'
import { SEALED_COLUMNS, type SealedRow, sealedRow } from '../formats/sealed-columns.ts'

/** A day as files; the same events give the same bytes. */
export interface SealedFiles {
  readonly rows: number
  readonly files: Readonly<Record<SealedFileName, Buffer>>
}

/** Rows that a file may have: a day of the largest venue has a tenth. */
const MOST_ROWS = 500_000

/**
 * Makes the files of a day whose windows have closed, from the log.
 *
 * @throws ServiceError `append_too_large` for a day with more rows than a file may have
 */
export async function sealDay(
  store: EventStore,
  day: Pick<SealedDay, 'exchange' | 'date' | 'after' | 'upTo'>,
  signal: AbortSignal,
): Promise<SealedFiles> {
  const rows = await rowsOf(store, day, signal)
  const metadata = { schema_version: '1', exchange: day.exchange, date: day.date }
  return {
    rows: rows.length,
    files: {
      'verdicts.parquet': await encodeSealedParquet(rows, SEALED_COLUMNS, metadata),
      'verdicts.csv.gz': encodeSealedCsv(rows, SEALED_COLUMNS),
    },
  }
}

async function rowsOf(
  store: EventStore,
  { exchange, date, after, upTo }: Pick<SealedDay, 'exchange' | 'date' | 'after' | 'upTo'>,
  signal: AbortSignal,
): Promise<SealedRow[]> {
  const verdicts = new Map<string, { readonly verdict: Verdict; readonly recorded: string }>()
  const rows: SealedRow[] = []
  const filter = {
    types: ['VerdictRecorded', 'OutcomeLabelled'],
    streamPrefixes: [`verdict-${exchange}.`, `outcome-${exchange}.`],
  }
  for await (const recorded of store.readAll({ after, upTo, filter, signal })) {
    const event = decodeEvent(recorded)
    if (event.type !== 'VerdictRecorded' && event.type !== 'OutcomeLabelled') continue
    if (new Date(event.data.barClose).toISOString().slice(0, 10) !== date) continue
    if (event.type === 'VerdictRecorded')
      verdicts.set(event.id, { verdict: event.data, recorded: recorded.at })
    else {
      const found = verdicts.get(event.data.verdictId)
      if (found === undefined) continue
      verdicts.delete(event.data.verdictId)
      const at = { recorded: found.recorded, labelled: recorded.at, position: recorded.position }
      rows.push(sealedRow(found.verdict, event.data, at))
    }
    if (rows.length > MOST_ROWS)
      throw new ServiceError('append_too_large', {
        message: `${exchange} has more than ${MOST_ROWS} verdicts on ${date}`,
      })
  }
  // Neighbours are alike: what is asked for by series or timeframe lies together, and packs better.
  return rows.toSorted(bySeries)
}

const PLACES: ReadonlyMap<unknown, number> = new Map(TIMEFRAMES.map((timeframe, place) => [timeframe, place]))

const bySeries = (a: SealedRow, b: SealedRow): number =>
  (PLACES.get(a.timeframe) ?? 0) - (PLACES.get(b.timeframe) ?? 0) ||
  compare(a.coin, b.coin) ||
  compare(a.bar_close, b.bar_close)

const compare = (a: unknown, b: unknown): number =>
  String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0

/** What is said of a sealed day for ever. */
export const manifestOf = (
  { rows, files }: SealedFiles,
  day: Pick<SealedDay, 'exchange' | 'date' | 'after' | 'upTo'>,
  about: { readonly market: MarketKind; readonly checkpoint: SealedManifest['checkpoint'] },
): SealedManifest => ({
  schema_version: 1,
  market: about.market,
  exchange: day.exchange,
  date: day.date,
  rows,
  columns: SEALED_COLUMNS.map(({ name, kind }) => ({ name, type: kind })),
  files: (Object.keys(files) as SealedFileName[]).map((name) => ({
    name,
    bytes: files[name].length,
    sha256: hash('sha256', files[name]),
  })),
  after: day.after,
  up_to: day.upTo,
  checkpoint: about.checkpoint,
})
