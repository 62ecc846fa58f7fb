import { logFormatAnswerSchema } from '../../../contracts/log-format-answer.ts'
import type { Command } from '../kit/command.ts'
import { operatorCommand } from '../kit/operator-command.ts'

const showCommand = operatorCommand({
  name: 'log-format show',
  summary: 'Says in which format the log is written, and which is the newest that the process writes.',
  examples: ['signal log-format show'],
  async *act({ requests }) {
    yield requests.get('/operator/log-format', {}, logFormatAnswerSchema)
  },
})

const raiseCommand = operatorCommand({
  name: 'log-format raise',
  summary: 'Finishes a rolling upgrade: from now on every process writes what came with its release.',
  notes: [
    'Only once no process of an older release is left: one that is ends with exit code 1, and cannot be started on this log again. It cannot be taken back.',
  ],
  examples: ['signal log-format raise'],
  async *act({ requests }) {
    yield requests.post('/operator/log-format/raise', {}, logFormatAnswerSchema)
  },
})

export const logFormatCommands: readonly Command[] = [showCommand, raiseCommand]
