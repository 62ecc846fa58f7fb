import { z } from 'zod'
import { defineCommand } from '../kit/command.ts'
import { OPERATOR_FLAGS, OPERATOR_NOTE, openOperatorRequests } from '../kit/operator-requests.ts'

const answerSchema = z.object({ origin: z.string(), vkeys: z.array(z.string()) })

export const logOriginCommand = defineCommand({
  name: 'log open-origin',
  summary:
    'Lets the transparency log go on under another name, where it does not extend what it has signed before.',
  notes: [
    'An entry of the log tells everybody who relied on the old origin which checkpoint is not continued, and why.',
    OPERATOR_NOTE,
  ],
  operands: ['origin'],
  flags: {
    reason: {
      schema: z.string().trim().min(1).max(500).default('no reason is given'),
      help: 'Why; everybody can read it. Default: no reason is given.',
      example: 'the disk was lost',
    },
    ...OPERATOR_FLAGS,
  },
  examples: ['signal log open-origin signals.example.com/log-2 --reason "the disk was lost"'],
  async run(input) {
    const [origin = ''] = input.operands
    const requests = await openOperatorRequests(input)
    const answer = await requests.post(
      '/operator/log/origin',
      { origin, reason: input.flags.reason },
      answerSchema,
    )
    input.stdout.write(
      [`origin    ${answer.origin}`, ...answer.vkeys.map((vkey) => `vkey      ${vkey}`), ''].join('\n'),
    )
    return undefined
  },
})
