import { z } from 'zod'
import type { VerdictRow } from '../../../contracts/answers/verdict-row.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import {
  FORMATS,
  formatOfFile,
  replayFilterParameters,
  replayParameters,
  replayQueryFault,
  VERDICT_FORMATS,
  type VerdictFormat,
} from '../../analyst/index.ts'
import { type Command, defineCommand, flag, switchFlag } from '../kit/command.ts'
import { createProgressLine, grouped, writeFileWhole, writeToStream } from '../kit/output.ts'
import { findService, SERVICE_FLAGS } from '../kit/service.ts'

/** Rows of all the pages together; no log has more. */
const MOST_ROWS = 1_000_000_000

const { exchange, coin, timeframe, call, from, to, after } = replayFilterParameters

/** Flags that choose verdicts. */
export const FILTER_FLAGS = {
  exchange: flag(exchange, 'Exchange codes, separated by commas. Default: all.', 'BINANCE,HL', 'exchanges'),
  coin: flag(coin, 'Coin symbols, separated by commas. Default: all.', 'BTC,ETH', 'coins'),
  timeframe: flag(timeframe, 'Timeframes, separated by commas. Default: all.', '1h,4h', 'timeframes'),
  call: flag(call, 'Calls, separated by commas: BUY, SELL, HOLD. Default: all.', 'BUY,SELL'),
  from: flag(
    from,
    'Bars that close at this instant or later; ISO 8601. Default: the beginning.',
    '2025-01-01',
  ),
  to: flag(to, 'Bars that close before this instant. Default: the end.', '2025-07-01T12:00:00Z'),
  after: flag(after, 'The cursor of a row: only verdicts after it.', '1234'),
} as const

/** Flags that the service reads as its query. */
const QUERY_FLAGS = {
  ...FILTER_FLAGS,
  'as-of': flag(
    replayParameters.as_of,
    'The log as it was: an instant or a position; what was recorded later is left out. Default: now.',
    '2025-03-01',
  ),
} as const

/** A file of verdicts, and its format. */
export const FILE_FLAGS = {
  out: flag(
    z.string().min(1).optional(),
    'File to write, whole or not at all. Default: none.',
    'verdicts.parquet',
  ),
  format: flag(
    z.enum(VERDICT_FORMATS).optional(),
    'How rows are written: ndjson, csv or parquet. Default: what the name of the file ends in, or ndjson.',
    'csv',
  ),
} as const

const wrong = (message: string): ServiceError => new ServiceError('config_invalid', { message })

/** @throws ServiceError `config_invalid` for a file whose name says no format, and Parquet without a file */
export function chooseFormat(named: VerdictFormat | undefined, file: string | undefined): VerdictFormat {
  const format = named ?? (file === undefined ? 'ndjson' : formatOfFile(file))
  const endings = VERDICT_FORMATS.map((name) => `.${FORMATS[name].ending}`).join(', ')
  if (format === undefined)
    throw wrong(`--out ${JSON.stringify(file)} does not end in ${endings}. Name the format: --format csv`)
  if (format === 'parquet' && file === undefined)
    throw wrong('--format parquet needs a file: --out verdicts.parquet')
  return format
}

const replayCommand = defineCommand({
  name: 'replay',
  summary: 'Writes recorded verdicts, in the order of the log, to standard output or to a file.',
  notes: [
    'A file replaces one of its name. The last line on standard error names the cursor of the last row: give it as --after the next time.',
  ],
  flags: {
    ...QUERY_FLAGS,
    limit: flag(
      z.coerce.number().int().min(1).max(MOST_ROWS).default(MOST_ROWS),
      'Rows at most. Default: all.',
      '1000',
    ),
    ...FILE_FLAGS,
    json: switchFlag('With --out: writes what was done to standard output, as JSON.'),
    ...SERVICE_FLAGS,
  },
  examples: [
    'signal replay --coin BTC --timeframe 1h --limit 5',
    'signal replay --call BUY,SELL --format csv > calls.csv',
    'signal replay --from 2025-01-01 --out verdicts.parquet',
  ],
  async run(input) {
    const { flags, texts, stdout, signal } = input
    const { out } = flags
    const fault = replayQueryFault(flags)
    if (fault !== undefined) throw wrong(`--${fault}`)
    const format = chooseFormat(flags.format, out)
    const service = await findService(input)
    const asked = Object.entries<string>(texts).filter(([name]) => name in QUERY_FLAGS)
    const query = Object.fromEntries(asked.map(([name, text]) => [name.replaceAll('-', '_'), text]))
    // The client of customers knows the fields that it documents; a row has them all.
    const rows = service.verdicts(query, flags.limit) as AsyncIterable<unknown> as AsyncIterable<VerdictRow>
    const { encode } = FORMATS[format]
    if (out === undefined) return writeToStream(stdout, encode(rows))
    const progress = createProgressLine(input)
    const seen = { count: 0, cursor: null as string | null }
    async function* counted(): AsyncGenerator<VerdictRow, void, void> {
      for await (const row of rows) {
        seen.count += 1
        seen.cursor = row.cursor
        progress.show(`${grouped(seen.count)} rows`)
        yield row
      }
    }
    const bytes = await writeFileWhole(out, encode(counted()), signal)
    const goOn = seen.cursor === null ? '' : `; go on with --after ${seen.cursor}`
    progress.end(`${grouped(seen.count)} rows (${grouped(bytes)} bytes) in ${out}${goOn}`, {
      file: out,
      format,
      rows: seen.count,
      bytes,
      cursor: seen.cursor,
    })
  },
})

export const commands: readonly Command[] = [replayCommand]
