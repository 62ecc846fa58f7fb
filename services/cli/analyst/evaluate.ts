import { z } from 'zod'
import { TIMEFRAMES } from '../../../contracts/timeframes.ts'
import { keptModelFile, loadModel, readRanges } from '../../engine/index.ts'
import { defineCommand } from '../kit/command.ts'
import { writeToStream } from '../kit/write-output.ts'

export const evaluateCommand = defineCommand({
  name: 'evaluate',
  summary:
    'Writes how good a model and its ranges were on bars that no fit had seen, one JSON object a timeframe.',
  notes: [
    '`races` scores which barrier comes first, `closes` on which side of the entry the window closes, `ranges` how far the price goes: coverage, pinball loss, and R² and QLIKE of the log range beside EWMA and HAR. What the words mean is in [model.md](model.md).',
    'The scores came with the model. In a checkout `npm run evaluate` computes them again from candles.',
  ],
  flags: {
    model: {
      schema: z.string().optional(),
      help: 'A model that came with this release, or the file of another. Default: the one of this release.',
      example: 'barrier-4',
    },
    timeframe: { schema: z.enum(TIMEFRAMES).optional(), help: 'One timeframe. Default: all.', example: '1h' },
  },
  examples: ['signal evaluate', 'signal evaluate --timeframe 1h --model barrier-4'],
  async run({ flags, stdout }) {
    const model = loadModel(
      flags.model === undefined ? undefined : (keptModelFile(flags.model) ?? flags.model),
    )
    const ranges = readRanges(model.ranges[0]?.model)
    async function* lines(): AsyncGenerator<string, void, void> {
      for (const timeframe of flags.timeframe === undefined ? TIMEFRAMES : [flags.timeframe]) {
        const { measured: races, closes } = model.timeframes[timeframe]
        const { measured, blind } = ranges.timeframes[timeframe]
        const scores = {
          races,
          closes: closes?.measured,
          ranges: { version: ranges.version, measured, blind },
        }
        yield `${JSON.stringify({ model: model.version, timeframe, ...scores })}\n`
      }
    }
    await writeToStream(stdout, lines())
  },
})
