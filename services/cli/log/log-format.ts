import { logFormatAnswerSchema } from '../../../contracts/log-format-answer.ts'
import type { Command } from '../kit/command.ts'
import { operatorCommand } from '../kit/operator-command.ts'

const showCommand = operatorCommand({
  name: 'log-format show',
  summary: 'Shows the format of the log, and the newest format that the process writes.',
  examples: ['signal log-format show'],
  act: ({ requests }) => requests.get('/operator/log-format', {}, logFormatAnswerSchema),
})

const raiseCommand = operatorCommand({
  name: 'log-format raise',
  summary: 'Finishes a rolling upgrade: from now on every process writes the newest format.',
  notes: [
    'Run it only once no process of an older release is left: such a process ends with exit code 1, and cannot start on this log again. It cannot be undone.',
  ],
  examples: ['signal log-format raise'],
  act: ({ requests }) => requests.post('/operator/log-format/raise', {}, logFormatAnswerSchema),
})

export const logFormatCommands: readonly Command[] = [showCommand, raiseCommand]
