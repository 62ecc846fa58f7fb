import { ServiceError } from '../../../contracts/errors/errors.ts'
import { type Json, jsonFault } from '../../../contracts/infra/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'

/**
 * The JSON text of a message body. @throws ServiceError `internal_error` for what is not JSON, `payload_too_large` past
 * `LIMITS.busMessageBytes`.
 */
export function encodeBody(subject: string, body: Json): string {
  const fault = jsonFault(body, LIMITS.jsonDepth)
  if (fault !== undefined) {
    throw new ServiceError('internal_error', { message: `the message to ${subject} is not JSON at ${fault}` })
  }
  const text = JSON.stringify(body)
  const bytes = Buffer.byteLength(text)
  if (bytes > LIMITS.busMessageBytes) {
    throw new ServiceError('payload_too_large', {
      message: `the message to ${subject} has ${bytes} bytes; the bus takes ${LIMITS.busMessageBytes}`,
    })
  }
  return text
}

/** Inverse of {@link encodeBody}; a body is a value of its own for every reader. */
export const decodeBody = (text: string): Json => JSON.parse(text)
