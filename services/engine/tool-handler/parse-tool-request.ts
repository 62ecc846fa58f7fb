import { ServiceError } from '../../../contracts/errors.ts'
import { faultMessage, type InputFault, inputFaults } from '../../../contracts/input-faults.ts'
import { TOOLS, type ToolName, type ToolRequest } from '../../../contracts/tools/tool-catalogue.ts'

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
  throw invalid(tool, inputFaults(parsed.error.issues, 'the arguments', 'this tool'))
}

const invalid = (tool: ToolName, fields: readonly InputFault[]): ServiceError =>
  new ServiceError('invalid_request', {
    message: `${tool}, ${faultMessage(fields)}`,
    details: { fields },
  })
