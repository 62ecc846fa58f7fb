import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { shown } from '../refusal.ts'

/** Of version 1 and of version 2; which version a payment is, only its content says. */
const HEADER_NAMES: readonly string[] = ['x-payment', 'payment-signature']
const NAME_LENGTHS: readonly number[] = HEADER_NAMES.map((name) => name.length)

/** RFC 4648 §4 and §5: both alphabets, with or without padding. */
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/

/**
 * The payment header of a request; undefined where it has none. Node keeps one of several lines of a name and says
 * nothing, so they are counted as they came.
 *
 * @param rawHeaders names and values in turn
 * @throws ServiceError `payment_malformed` where there are several
 */
export function findPaymentHeader(rawHeaders: readonly string[]): string | undefined {
  let found: string | undefined
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (!NAME_LENGTHS.includes(name.length) || !HEADER_NAMES.includes(name.toLowerCase())) continue
    if (found !== undefined) {
      throw malformed(`There is more than one payment header; the second is ${name}.`)
    }
    found = rawHeaders[index + 1] ?? ''
  }
  return found
}

/**
 * The JSON object that a payment header holds: in base64, as the specification has it, or as it is.
 *
 * @throws ServiceError `payment_malformed`
 */
export function decodePaymentHeader(header: string): Readonly<Record<string, unknown>> {
  if (header.length > LIMITS.paymentHeaderBytes) {
    throw malformed(
      `The payment header has ${header.length} bytes; at most ${LIMITS.paymentHeaderBytes} are read.`,
    )
  }
  const text = header.trim()
  if (text === '') throw malformed('The payment header is empty.')
  const decoded = parse(text.startsWith('{') ? text : fromBase64(text))
  if (typeof decoded === 'object' && decoded !== null && !Array.isArray(decoded)) {
    return decoded as Readonly<Record<string, unknown>>
  }
  throw malformed(`The payment header holds ${shown(decoded)}, not an object.`)
}

function fromBase64(text: string): string {
  if (BASE64.test(text)) return Buffer.from(text, 'base64').toString()
  throw malformed(`The payment header is neither base64 nor a JSON object: ${shown(text)}.`)
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json) as unknown
  } catch (error) {
    throw malformed(`The payment header holds no JSON: ${reasonOf(error)}.`)
  }
}

const malformed = (message: string): ServiceError => new ServiceError('payment_malformed', { message })
