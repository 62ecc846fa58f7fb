import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import type { VerdictRow } from '../../../contracts/verdict-row.ts'
import { FORMATS, formatOfFile, VERDICT_FORMATS, type VerdictFormat } from '../../analyst/index.ts'
import { defineCommand } from '../kit/command.ts'
import { switchFlag } from '../kit/common-flags.ts'
import { SERVICE_FLAGS } from '../kit/find-service.ts'
import { createProgressLine, grouped } from '../kit/progress-line.ts'
import { writeFileWhole } from '../kit/write-output.ts'
import { findVerdicts, REPLAY_FLAGS } from './replay.ts'

/** The format that is named, or that the file's name ends in. */
export function chooseFormat(named: VerdictFormat | undefined, file: string): VerdictFormat {
  const format = named ?? formatOfFile(file)
  if (format !== undefined) return format
  throw new ServiceError('config_invalid', {
    message: `--out ${JSON.stringify(file)} does not end in .${VERDICT_FORMATS.map((name) => FORMATS[name].ending).join(', .')}. Name the format: --format csv`,
  })
}

/** Counts rows as they pass, keeping the last one and the closes of the first and the last bar. */
export function countRows(onRow: (rows: number) => void = () => undefined) {
  const seen = {
    count: 0,
    last: undefined as VerdictRow | undefined,
    from: Number.POSITIVE_INFINITY,
    to: Number.NEGATIVE_INFINITY,
  }
  return {
    seen,
    async *pass(rows: AsyncIterable<VerdictRow>): AsyncGenerator<VerdictRow, void, void> {
      for await (const row of rows) {
        seen.count += 1
        seen.last = row
        const close = Date.parse(row.bar_close)
        seen.from = Math.min(seen.from, close)
        seen.to = Math.max(seen.to, close)
        onRow(seen.count)
        yield row
      }
    },
  }
}

export const exportCommand = defineCommand({
  name: 'export',
  summary: 'Writes recorded verdicts to a file, as NDJSON, CSV or Parquet.',
  notes: [
    'The file appears whole or not at all, and replaces a file of the same name; a folder, a pipe or a device of that name is refused. The last line names the cursor of the last row: give it as --after the next time.',
  ],
  flags: {
    out: {
      schema: z.string().min(1),
      help: 'The file to write.',
      example: 'verdicts.parquet',
    },
    format: {
      schema: z.enum(VERDICT_FORMATS).optional(),
      help: 'ndjson, csv or parquet. Default: what the name of the file ends in.',
      example: 'parquet',
    },
    ...REPLAY_FLAGS,
    json: switchFlag('Writes what was done to standard output, as JSON.'),
    ...SERVICE_FLAGS,
  },
  examples: [
    'signal export --out verdicts.parquet',
    'signal export --out calls.csv --call BUY,SELL --from 2025-01-01',
  ],
  async run(input) {
    const { flags, signal } = input
    const format = chooseFormat(flags.format, flags.out)
    const { rows, from } = await findVerdicts(input)
    const progress = createProgressLine(input)
    const counting = countRows((count) => progress.show(`${grouped(count)} rows`))
    const chunks = FORMATS[format].encode(counting.pass(rows))
    const bytes = await writeFileWhole(flags.out, chunks, signal)
    const { count, last } = counting.seen
    const done = { file: flags.out, format, rows: count, bytes, cursor: last?.cursor ?? null }
    progress.end(
      `${grouped(count)} rows (${grouped(bytes)} bytes) from ${from} in ${flags.out}${last === undefined ? '' : `; go on with --after ${last.cursor}`}`,
      done,
    )
  },
})
