import { z } from 'zod'
import type { TrackRecordRow } from '../../../contracts/track-record-row.ts'
import { defineCommand } from '../kit/command.ts'
import { queryOf, SOURCE_FLAGS } from '../kit/common-flags.ts'
import { withVerdictSource } from '../kit/open-verdict-source.ts'
import { writeToStream } from '../kit/write-output.ts'

const PARAMETERS = {
  'group-by': {
    schema: z.enum(['series', 'timeframe']).default('timeframe'),
    help: 'A row for each series, or one for each timeframe over all series. Default: timeframe.',
    example: 'series',
  },
  exchange: {
    schema: z.string().optional(),
    help: 'One exchange; with --group-by series.',
    example: 'BINANCE',
  },
  coin: { schema: z.string().optional(), help: 'One coin; with --group-by series.', example: 'BTC' },
  timeframe: { schema: z.string().optional(), help: 'One timeframe.', example: '1h' },
  'model-version': { schema: z.string().optional(), help: 'One model. Default: all.', example: 'barrier-6' },
} as const

export const trackRecordCommand = defineCommand({
  name: 'track-record',
  summary: 'Writes the track record of all recorded verdicts, one JSON object a line.',
  notes: [
    'The rows are those of `GET /api/track-record`. A running service keeps them; a closed store does not.',
  ],
  flags: { ...PARAMETERS, ...SOURCE_FLAGS },
  examples: ['signal track-record', 'signal track-record --group-by series --coin BTC'],
  async run(input) {
    const parameters = queryOf(input.texts, Object.keys(PARAMETERS))
    await withVerdictSource(input, (source) =>
      writeToStream(input.stdout, lines(source.trackRecord(parameters, input.signal))),
    )
  },
})

async function* lines(rows: AsyncIterable<TrackRecordRow>): AsyncGenerator<string, void, void> {
  for await (const row of rows) yield `${JSON.stringify(row)}\n`
}
