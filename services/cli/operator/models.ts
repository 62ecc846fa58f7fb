import { modelChoiceSchema, modelsAnswerSchema } from '../../../contracts/model-answers.ts'
import type { Command } from '../kit/command.ts'
import { operatorCommand, rowsOf } from '../kit/operator-command.ts'

const listCommand = operatorCommand({
  name: 'models list',
  summary:
    'Writes the models that run, the one that speaks first, with their track record at each timeframe, one JSON object a line.',
  notes: [
    'Models run beside the one that speaks where MODEL_FILES names their files. Nobody is served their verdicts.',
  ],
  examples: ['signal models list'],
  act: ({ requests }) => rowsOf(requests, '/operator/models', modelsAnswerSchema, ({ models }) => models),
})

const useCommand = operatorCommand({
  name: 'models use',
  summary:
    'Has another model speak, for the bars that close from now on, in every process and after restarts.',
  notes: ['The former one runs on beside it, as long as its file is there.'],
  operand: { name: 'model_version', read: (_name, text) => text },
  examples: ['signal models use barrier-5'],
  act: ({ requests, operand }) =>
    requests.post('/operator/models/use', { model_version: operand }, modelChoiceSchema),
})

export const modelCommands: readonly Command[] = [listCommand, useCommand]
