import { ServiceError } from '../../../contracts/errors.ts'
import { parseJson as readJson } from '../../../contracts/json.ts'
import type { SentBody } from '../../tool-calls/index.ts'
import { valuesOf } from '../one-host.ts'

/**
 * RFC 9110 §8.3.1, for one type: parameters may follow, each a name and a value, and a second type may not, no matter what
 * joins the two.
 */
const JSON_TYPE =
  /^application\/json[ \t]*(?:;[ \t]*(?:[!#$%&'*+.^_`|~0-9a-z-]+=(?:[!#$%&'*+.^_`|~0-9a-z-]+|"[^",\\]*")[ \t]*)?)*$/i

/** Longest value that a refusal repeats. */
const SHOWN_CHARACTERS = 100

/**
 * The body of a request to a paid route. It is read as JSON for the price, no matter its headers; whether they say
 * what they must is checked once it is paid for.
 *
 * @param rawHeaders as Node has them: of two lines of one name it otherwise keeps the first and says nothing
 */
export function readPaidBody(rawHeaders: readonly string[], body: unknown): SentBody {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
  const read = parseJson(bytes)
  return {
    isEmpty: bytes.length === 0,
    lenient: read.value,
    require() {
      requireJsonType(rawHeaders)
      if (read.fault === undefined) return read.value
      throw new ServiceError('invalid_request', { message: `The body is not JSON: ${read.fault}` })
    },
  }
}

function parseJson(bytes: Buffer): { readonly value?: unknown; readonly fault?: string } {
  if (bytes.length === 0) return { fault: 'it is empty' }
  try {
    return { value: readJson(bytes.toString()) }
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) }
  }
}

/** @throws ServiceError `invalid_content_type` */
function requireJsonType(rawHeaders: readonly string[]): void {
  const values = valuesOf(rawHeaders, 'content-type')
  const [value] = values
  if (values.length === 1 && value !== undefined && JSON_TYPE.test(value.trim())) return
  const shown = values.map((text) => JSON.stringify(text.slice(0, SHOWN_CHARACTERS)))
  const found = values.length === 0 ? 'it was left out' : `it was ${shown.join(' and ')}`
  throw new ServiceError('invalid_content_type', {
    message: `Content-Type must be application/json, given once; ${found}. Nothing was charged for this request.`,
    details: { given: values.map((text) => text.slice(0, SHOWN_CHARACTERS)) },
  })
}
