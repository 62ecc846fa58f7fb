import type { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { TOOLS, type ToolName, type ToolRequest } from '../../../contracts/tools/tool-catalogue.ts'

/** Faults that a refusal lists, and how much it says of each. */
const FAULTS_LISTED = 20
const FAULT_CHARACTERS = 200

/**
 * A request as its tool takes it: checked, names in upper case, defaults filled in. Parsing what was parsed
 * changes nothing.
 *
 * @throws ServiceError `invalid_request` naming every field at fault in `details.fields`.
 * @example parseToolRequest('get_trade_call', { coin: 'btc' }) // { coin: 'BTC', timeframe: '1h', … }
 */
export function parseToolRequest<Name extends ToolName>(tool: Name, request: unknown): ToolRequest<Name> {
  // The schemas drop this one key where they refuse every other that they do not know.
  if (typeof request === 'object' && request !== null && Object.hasOwn(request, '__proto__')) {
    throw invalid(tool, [{ field: '__proto__', problem: 'is not a field of this tool' }])
  }
  const parsed = TOOLS[tool].request.safeParse(request)
  if (parsed.success) return parsed.data as ToolRequest<Name>
  throw invalid(tool, parsed.error.issues.flatMap(faultsIn).slice(0, FAULTS_LISTED))
}

interface Fault {
  readonly [name: string]: string
  readonly field: string
  readonly problem: string
}

function faultsIn(issue: z.core.$ZodIssue): Fault[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => fault(key, 'is not a field of this tool'))
  }
  return [fault(issue.path.map(String).join('.') || '(body)', issue.message)]
}

const fault = (field: string, problem: string): Fault => ({
  field: field.slice(0, FAULT_CHARACTERS).toWellFormed(),
  problem: problem.slice(0, FAULT_CHARACTERS).toWellFormed(),
})

function invalid(tool: ToolName, fields: readonly Fault[]): ServiceError {
  const [first] = fields
  return new ServiceError('invalid_request', {
    message: `${tool}, ${first?.field}: ${first?.problem}`,
    details: { fields },
  })
}
