import { logFormatAnswerSchema } from '../../contracts/log-format-answer.ts'
import { type Command, defineCommand } from './command.ts'
import { OPERATOR_FLAGS, OPERATOR_NOTE, openOperatorRequests } from './operator-requests.ts'

const showCommand = defineCommand({
  name: 'log-format show',
  summary: 'Says in which format the log is written, and which is the newest that the process writes.',
  notes: [OPERATOR_NOTE],
  operands: [],
  flags: { ...OPERATOR_FLAGS },
  examples: ['signal log-format show'],
  async run(input) {
    const requests = await openOperatorRequests(input)
    const answer = await requests.get('/operator/log-format', {}, logFormatAnswerSchema)
    input.stdout.write(`${JSON.stringify(answer)}\n`)
    return undefined
  },
})

const raiseCommand = defineCommand({
  name: 'log-format raise',
  summary: 'Finishes a rolling upgrade: from now on every process writes what came with its release.',
  notes: [
    'Only once no process of an older release is left: one that is ends with exit code 1, and cannot be started on this log again. It cannot be taken back.',
    OPERATOR_NOTE,
  ],
  operands: [],
  flags: { ...OPERATOR_FLAGS },
  examples: ['signal log-format raise'],
  async run(input) {
    const requests = await openOperatorRequests(input)
    const answer = await requests.post('/operator/log-format/raise', {}, logFormatAnswerSchema)
    input.stdout.write(`${JSON.stringify(answer)}\n`)
    return undefined
  },
})

export const logFormatCommands: readonly Command[] = [showCommand, raiseCommand]
