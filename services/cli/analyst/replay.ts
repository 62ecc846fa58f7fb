import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import type { VerdictRow } from '../../../contracts/verdict-row.ts'
import { FORMATS, replayParameters, replayQueryFault } from '../../analyst/index.ts'
import { type CommandInput, defineCommand } from '../kit/command.ts'
import { FILTER_FLAGS, queryOf, switchFlag } from '../kit/common-flags.ts'
import { findService, SERVICE_FLAGS } from '../kit/find-service.ts'
import { writeToStream } from '../kit/write-output.ts'

/** Rows of all the pages together; no log has more. */
const MOST_ROWS = 1_000_000_000

/** Which part of the log is wanted, beside the filter. */
export const REPLAY_FLAGS = {
  ...FILTER_FLAGS,
  'as-of': {
    schema: replayParameters.as_of,
    help: 'The log as it was: an instant or a position; what was recorded later is left out. Default: now.',
    example: '2025-03-01',
  },
  limit: {
    schema: z
      .string()
      .regex(/^\d{1,10}$/, { error: 'must be a whole number' })
      .transform(Number)
      .pipe(z.number().min(1).max(MOST_ROWS))
      .default(MOST_ROWS),
    help: 'Rows at most. Default: all.',
    example: '1000',
  },
} as const

/**
 * The rows that the flags select, as the service that is found gives them.
 *
 * @throws ServiceError `config_invalid` where the flags do not go together, or no service runs
 */
export async function findVerdicts(
  input: CommandInput<typeof REPLAY_FLAGS & typeof SERVICE_FLAGS>,
  kind: 'replay' | 'follow' = 'replay',
): Promise<{ readonly rows: AsyncIterable<VerdictRow>; readonly from: string }> {
  const fault = replayQueryFault(input.flags)
  if (fault !== undefined) throw new ServiceError('config_invalid', { message: `--${fault}` })
  const service = await findService(input)
  const asked = queryOf(input.texts, Object.keys(REPLAY_FLAGS))
  // The client of customers knows the fields that it documents; the row has them all.
  const rows: AsyncIterable<unknown> = service.verdicts(kind, asked, input.flags.limit)
  return { rows: rows as AsyncIterable<VerdictRow>, from: service.name }
}

export const replayCommand = defineCommand({
  name: 'replay',
  summary: 'Writes recorded verdicts to standard output, in the order of the log.',
  notes: [
    'With --follow it writes the verdicts that become visible from now on, or after --after, until it is stopped; `--after start` begins at the beginning. It goes on by itself when the service restarts.',
  ],
  flags: {
    ...REPLAY_FLAGS,
    format: {
      schema: z.enum(['ndjson', 'csv']).default('ndjson'),
      help: 'How rows are written: ndjson or csv. Default: ndjson.',
      example: 'csv',
    },
    follow: switchFlag('Continues with verdicts as they become visible.'),
    ...SERVICE_FLAGS,
  },
  examples: [
    'signal replay --coin BTC --timeframe 1h --limit 5',
    'signal replay --call BUY,SELL --format csv > calls.csv',
    'signal replay --follow --server http://127.0.0.1:8402',
  ],
  async run(input) {
    const { flags } = input
    if (flags.follow && flags['as-of'] !== undefined) {
      throw new ServiceError('config_invalid', {
        message: '--follow and --as-of exclude one another: the log as it was has no future',
      })
    }
    const { format, follow } = flags
    const { rows } = await findVerdicts(input, follow ? 'follow' : 'replay')
    await writeToStream(input.stdout, follow ? rowByRow(format)(rows) : FORMATS[format].encode(rows))
  },
})

const LINE_END = 10

/** Encodes each row as it comes instead of waiting for a chunk full of them; one header for all. */
const rowByRow = (name: keyof typeof FORMATS): (typeof FORMATS)[typeof name]['encode'] =>
  async function* (rows) {
    let isFirst = true
    for await (const row of rows) {
      for await (const chunk of FORMATS[name].encode(only(row))) {
        yield isFirst || name !== 'csv' ? chunk : chunk.subarray(chunk.indexOf(LINE_END) + 1)
      }
      isFirst = false
    }
  }

async function* only<Item>(item: Item): AsyncGenerator<Item, void, void> {
  yield item
}
