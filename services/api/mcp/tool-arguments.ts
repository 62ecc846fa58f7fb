import type { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { faultMessage, inputFaults } from '../../../contracts/input-faults.ts'

/**
 * The arguments of a tool as its schema has them.
 *
 * @throws ServiceError `invalid_request`, naming each field that does not fit
 */
export function toolArguments<Schema extends z.ZodType>(
  tool: string,
  schema: Schema,
  sent: unknown,
): z.output<Schema> {
  const parsed = schema.safeParse(sent)
  if (parsed.success) return parsed.data
  const fields = inputFaults(parsed.error.issues, 'the arguments', 'this tool')
  throw new ServiceError('invalid_request', {
    message: `${tool}, ${faultMessage(fields)}`,
    details: { fields },
  })
}
