import { z } from 'zod'
import {
  addressSchema,
  bytes32Schema,
  GATEWAY_DOMAIN,
  type PaymentChain,
} from '../../../contracts/domain/chain.ts'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import type { Rail } from '../../../contracts/events/payment-events.ts'
import { parseJson as readJson } from '../../../contracts/infra/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { PresentedPayment } from '../payments.ts'
import { paymentRefusedError, shown } from '../refusal.ts'

const SCHEME = 'exact'
const UINT256_MAX = 2n ** 256n - 1n

const uint256 = z
  .string()
  .regex(/^\d{1,78}$/, 'must be a number of at most 256 bits, as decimal text')
  .transform(BigInt)
  .refine((value) => value <= UINT256_MAX, 'must be a number of at most 256 bits')

const payloadSchema = z.object({
  // Accounts with code sign with other lengths; verification refuses them with the reason.
  signature: z
    .string()
    .max(LIMITS.paymentHeaderBytes)
    .regex(/^0x[0-9a-fA-F]*$/, 'must be hexadecimal, with 0x in front')
    .toLowerCase()
    // Some hardware wallets say 0 and 1 for the 27 and 28 that the token takes; v is an argument of the transfer.
    .transform((text) =>
      text.replace(/^(0x[\da-f]{128})0([01])$/, (_, rs, v) => `${rs}1${v === '0' ? 'b' : 'c'}`),
    ),
  authorization: z.object({
    from: addressSchema,
    to: addressSchema,
    value: uint256,
    validAfter: uint256,
    validBefore: uint256,
    nonce: bytes32Schema,
  }),
})

const acceptedSchema = z.object({
  asset: addressSchema,
  extra: z
    .object({
      name: z.string().optional(),
      version: z.string().optional(),
      verifyingContract: addressSchema.optional(),
    })
    .nullish(),
})

/**
 * The payment that a request brings, of either version of x402; undefined where it brings none. Header names are
 * not looked at for the version: clients of version 2 send the older one too. What stands beside the authorization
 * is only a client's word, and used for nothing but to tell which of our offers it means.
 *
 * @param rawHeaders names and values in turn
 * @param on the chain that is paid on here
 * @throws ServiceError `payment_malformed` for what cannot be read, `payment_refused` with `details.reason` for
 *   what can be read and is nothing that was offered
 */
export function readPayment(rawHeaders: readonly string[], on: PaymentChain): PresentedPayment | undefined {
  const header = findPaymentHeader(rawHeaders)
  if (header === undefined) return undefined
  const sent = decodePaymentHeader(header)
  const { x402Version } = sent
  if (x402Version === 1) return readVersion1(sent, on)
  if (x402Version === 2) return readVersion2(sent, on)
  throw paymentRefusedError(
    'invalid_x402_version',
    `x402Version is ${shown(x402Version)}; 1 and 2 are spoken here.`,
  )
}

function readVersion1(sent: Readonly<Record<string, unknown>>, on: PaymentChain): PresentedPayment {
  const network = on.networkV1
  if (network === undefined)
    throw paymentRefusedError(
      'invalid_network',
      `Version 1 of x402 has no name for ${on.network}: pay with version 2.`,
    )
  requireOffered(sent, network)
  const payload = parse(payloadSchema, sent.payload, 'payload')
  return presented({ on, protocol: 1, rail: 'direct', network, asset: undefined, payload })
}

function readVersion2(sent: Readonly<Record<string, unknown>>, on: PaymentChain): PresentedPayment {
  const { accepted } = sent
  if (typeof accepted !== 'object' || accepted === null) {
    throw paymentRefusedError(
      'invalid_payload',
      `accepted is ${shown(accepted)}; it must repeat one of the offers.`,
    )
  }
  requireOffered(accepted, on.network)
  const { asset, extra } = parse(acceptedSchema, accepted, 'accepted')
  const payload = parse(payloadSchema, sent.payload, 'payload')
  return presented({ on, protocol: 2, rail: railOf(extra ?? {}, on), network: on.network, asset, payload })
}

/** The scheme first: what another one's payload looks like is not known here. */
function requireOffered(claimed: object, network: string): void {
  const named = claimed as { readonly scheme?: unknown; readonly network?: unknown }
  if (named.scheme !== SCHEME) {
    throw paymentRefusedError(
      'unsupported_scheme',
      `The scheme is ${shown(named.scheme)}; it must be "${SCHEME}".`,
    )
  }
  if (named.network !== network) {
    throw paymentRefusedError(
      'invalid_network',
      `The network is ${shown(named.network)}; it must be "${network}".`,
    )
  }
}

/** Both rails are `exact` on one network: what tells them apart is the domain that is signed under. */
function railOf(
  extra: NonNullable<z.output<typeof acceptedSchema>['extra']>,
  { domain: token, gateway }: PaymentChain,
): Rail {
  const { name = token.name, version, verifyingContract } = extra
  const isGateway = gateway !== undefined && name === GATEWAY_DOMAIN.name
  const domain = isGateway ? GATEWAY_DOMAIN : token
  const isOurs =
    name === domain.name &&
    (version === undefined || version === domain.version) &&
    (!isGateway || verifyingContract === undefined || verifyingContract === gateway.toLowerCase())
  if (isOurs) return isGateway ? 'gateway' : 'direct'
  throw paymentRefusedError(
    'invalid_payment_requirements',
    `accepted.extra names ${shown(name)}, version ${shown(version)}: no offer is signed for under it.`,
  )
}

interface Parts extends Pick<PresentedPayment, 'on' | 'protocol' | 'rail' | 'network' | 'asset'> {
  readonly payload: z.output<typeof payloadSchema>
}

function presented({ payload: { signature, authorization }, ...named }: Parts): PresentedPayment {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  return {
    ...named,
    scheme: SCHEME,
    payer: from as `0x${string}`,
    payTo: to as `0x${string}`,
    value,
    validAfter,
    validBefore,
    nonce: nonce as `0x${string}`,
    signature: signature as `0x${string}`,
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown, name: string): z.output<Schema> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const path = [name, ...(issue?.path ?? [])].join('.')
  throw paymentRefusedError('invalid_payload', `${path}: ${issue?.message ?? 'not valid'}.`)
}

/** The headers of version 1 and version 2. Only the content tells the version. */
const HEADER_NAMES: readonly string[] = ['x-payment', 'payment-signature']
const NAME_LENGTHS: readonly number[] = HEADER_NAMES.map((name) => name.length)

/** RFC 4648 §4 and §5: both alphabets, with or without padding. */
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/

/**
 * The payment header of a request; undefined where it has none. Node keeps one of several lines of a name and says
 * nothing, so they are counted as they came. Some wallets send one payment under both names: that is one.
 *
 * @param rawHeaders names and values in turn
 * @throws ServiceError `payment_malformed` where there are several
 */
function findPaymentHeader(rawHeaders: readonly string[]): string | undefined {
  const found = new Map<string, string>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index] ?? ''
    if (!NAME_LENGTHS.includes(given.length) || !HEADER_NAMES.includes(given.toLowerCase())) continue
    const name = given.toLowerCase()
    const value = rawHeaders[index + 1] ?? ''
    const [first = value] = found.values()
    if (found.has(name) || first !== value)
      throw malformedError(`There is more than one payment header; the second is ${given}.`)
    found.set(name, value)
  }
  return found.values().next().value
}

/**
 * The JSON object that a payment header holds: in base64, as the specification has it, or as it is.
 *
 * @throws ServiceError `payment_malformed`
 */
function decodePaymentHeader(header: string): Readonly<Record<string, unknown>> {
  if (header.length > LIMITS.paymentHeaderBytes) {
    throw malformedError(
      `The payment header has ${header.length} bytes; at most ${LIMITS.paymentHeaderBytes} are read.`,
    )
  }
  const text = header.trim()
  if (text === '') throw malformedError('The payment header is empty.')
  const decoded = parseJson(text.startsWith('{') ? text : fromBase64(text))
  if (typeof decoded === 'object' && decoded !== null && !Array.isArray(decoded)) {
    return decoded as Readonly<Record<string, unknown>>
  }
  throw malformedError(`The payment header holds ${shown(decoded)}, not an object.`)
}

function fromBase64(text: string): string {
  if (BASE64.test(text)) return Buffer.from(text, 'base64').toString()
  throw malformedError(`The payment header is neither base64 nor a JSON object: ${shown(text)}.`)
}

function parseJson(json: string): unknown {
  try {
    return readJson(json)
  } catch (error) {
    throw malformedError(`The payment header holds no JSON: ${reasonOf(error)}.`)
  }
}

const malformedError = (message: string): ServiceError => new ServiceError('payment_malformed', { message })
