import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { type JsonObject, jsonFault } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { canonicalTool, isToolName, TOOLS, unknownTool } from '../../../contracts/tools/tool-catalogue.ts'
import { defineCommand } from '../kit/command.ts'
import { findService, SERVICE_FLAGS } from '../kit/find-service.ts'
import { OPERATOR_NOTE } from '../kit/operator-command.ts'

export const askCommand = defineCommand({
  name: 'ask',
  summary: 'Asks a tool for the operator and writes its answer as JSON; nothing is counted.',
  notes: [`The tools are ${Object.keys(TOOLS).join(', ')}.`, OPERATOR_NOTE],
  operands: ['tool', 'request'],
  flags: SERVICE_FLAGS,
  examples: [
    `signal ask get_trade_call '{"coin":"BTC","timeframe":"4h"}'`,
    `signal ask scan_funding_arb '{"limit":5}'`,
  ],
  async run(input) {
    const [tool = '', text = ''] = input.operands
    if (!isToolName(canonicalTool(tool))) {
      const { message } = unknownTool(tool, Object.keys(TOOLS))
      throw new ServiceError('config_invalid', { message })
    }
    const requests = await findService(input)
    const answer = await requests.post(
      `/operator/tools/${tool}`,
      requestOf(text),
      z.record(z.string(), z.json()),
    )
    input.stdout.write(`${JSON.stringify(answer)}\n`)
  },
})

/** Reads the request, the operand after the name of the tool. @throws ServiceError `config_invalid` */
function requestOf(text: string): JsonObject {
  const read = z
    .string()
    .transform((json, context): unknown => {
      try {
        return JSON.parse(json)
      } catch {
        context.addIssue('is no JSON')
        return z.NEVER
      }
    })
    .pipe(z.record(z.string(), z.json()))
    .safeParse(text)
  if (read.success && jsonFault(read.data, LIMITS.jsonDepth) === undefined) return read.data
  throw new ServiceError('config_invalid', {
    message: `the request is ${JSON.stringify(text)}, which is no JSON object. For example: '{"coin": "BTC"}'`,
  })
}
