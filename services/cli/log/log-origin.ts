import { z } from 'zod'
import { operatorCommand } from '../kit/operator-command.ts'

const answerSchema = z.object({ origin: z.string(), vkeys: z.array(z.string()) })

export const logOriginCommand = operatorCommand({
  name: 'log open-origin',
  summary:
    'Lets the transparency log go on under another name, where it does not extend what it has signed before.',
  notes: [
    'An entry of the log tells everybody who relied on the old origin which checkpoint is not continued, and why.',
  ],
  operand: { name: 'origin', read: (_name, text) => text },
  flags: {
    reason: {
      schema: z.string().trim().min(1).max(500).default('no reason is given'),
      help: 'Why; everybody can read it. Default: no reason is given.',
      example: 'the disk was lost',
    },
  },
  examples: ['signal log open-origin signals.example.com/log-2 --reason "the disk was lost"'],
  act: ({ requests, operand: origin, flags: { reason } }) =>
    requests.post('/operator/log/origin', { origin, reason }, answerSchema),
  words: ({ origin, vkeys }) =>
    [`origin    ${origin}`, ...vkeys.map((vkey) => `vkey      ${vkey}`), ''].join('\n'),
})
