import { modelChoiceSchema, modelsAnswerSchema } from '../../contracts/model-answers.ts'
import { type Command, defineCommand } from './command.ts'
import { OPERATOR_FLAGS, OPERATOR_NOTE, openOperatorRequests } from './operator-requests.ts'

const listCommand = defineCommand({
  name: 'models list',
  summary:
    'Writes the models that run, the one that speaks first, with what became of their verdicts at each timeframe, one JSON object a line.',
  notes: [
    'Models run beside the one that speaks where MODEL_FILES names their files. Nobody is served their verdicts.',
    OPERATOR_NOTE,
  ],
  operands: [],
  flags: { ...OPERATOR_FLAGS },
  examples: ['signal models list'],
  async run(input) {
    const requests = await openOperatorRequests(input)
    for await (const page of requests.pages('/operator/models', {}, modelsAnswerSchema))
      for (const row of page.models) input.stdout.write(`${JSON.stringify(row)}\n`)
    return undefined
  },
})

const useCommand = defineCommand({
  name: 'models use',
  summary:
    'Has another model speak, for the bars that close from now on, in every process and after restarts.',
  notes: ['The one that spoke goes on beside it, as long as it is there.', OPERATOR_NOTE],
  operands: ['model_version'],
  flags: { ...OPERATOR_FLAGS },
  examples: ['signal models use barrier-3'],
  async run(input) {
    const requests = await openOperatorRequests(input)
    const body = { model_version: input.operands[0] ?? '' }
    const choice = await requests.post('/operator/models/use', body, modelChoiceSchema)
    input.stdout.write(`${JSON.stringify(choice)}\n`)
    return undefined
  },
})

export const modelCommands: readonly Command[] = [listCommand, useCommand]
