import { z } from 'zod'
import {
  addressSchema,
  bytes32Schema,
  GATEWAY_ADDRESS,
  GATEWAY_DOMAIN,
  NETWORK,
  NETWORK_V1,
  USDC_DOMAIN,
} from '../../../contracts/chain.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Rail } from '../../../contracts/payment-events.ts'
import type { PresentedPayment } from '../payments.ts'
import { paymentRefused, shown } from '../refusal.ts'
import { decodePaymentHeader, findPaymentHeader } from './decode-payment-header.ts'

const SCHEME = 'exact'
const UINT256_MAX = 2n ** 256n - 1n

const uint256 = z
  .string()
  .regex(/^\d{1,78}$/, 'must be a number of at most 256 bits, as decimal text')
  .transform(BigInt)
  .refine((value) => value <= UINT256_MAX, 'must be a number of at most 256 bits')

const payloadSchema = z.object({
  // Other lengths are signatures too, of accounts with code; who presents one is told what is wrong with it later.
  signature: z
    .string()
    .max(LIMITS.paymentHeaderBytes)
    .regex(/^0x[0-9a-fA-F]*$/, 'must be hexadecimal, with 0x in front')
    .toLowerCase(),
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
 * @throws ServiceError `payment_malformed` for what cannot be read, `payment_refused` with `details.reason` for
 *   what can be read and is nothing that was offered
 */
export function readPayment(rawHeaders: readonly string[]): PresentedPayment | undefined {
  const header = findPaymentHeader(rawHeaders)
  if (header === undefined) return undefined
  const sent = decodePaymentHeader(header)
  const { x402Version } = sent
  if (x402Version === 1) return readVersion1(sent)
  if (x402Version === 2) return readVersion2(sent)
  throw paymentRefused(
    'invalid_x402_version',
    `x402Version is ${shown(x402Version)}; 1 and 2 are spoken here.`,
  )
}

function readVersion1(sent: Readonly<Record<string, unknown>>): PresentedPayment {
  requireOffered(sent, NETWORK_V1)
  const payload = parse(payloadSchema, sent.payload, 'payload')
  return presented({ protocol: 1, rail: 'direct', network: NETWORK_V1, asset: undefined, payload })
}

function readVersion2(sent: Readonly<Record<string, unknown>>): PresentedPayment {
  const { accepted } = sent
  if (typeof accepted !== 'object' || accepted === null) {
    throw paymentRefused(
      'invalid_payload',
      `accepted is ${shown(accepted)}; it must repeat one of the offers.`,
    )
  }
  requireOffered(accepted, NETWORK)
  const { asset, extra } = parse(acceptedSchema, accepted, 'accepted')
  const payload = parse(payloadSchema, sent.payload, 'payload')
  const identifier = identifierIn(sent.extensions)
  return presented({ protocol: 2, rail: railOf(extra ?? {}), network: NETWORK, asset, payload, identifier })
}

/** The scheme first: what another one's payload looks like is not known here. */
function requireOffered(claimed: object, network: string): void {
  const named = claimed as { readonly scheme?: unknown; readonly network?: unknown }
  if (named.scheme !== SCHEME) {
    throw paymentRefused(
      'unsupported_scheme',
      `The scheme is ${shown(named.scheme)}; it must be "${SCHEME}".`,
    )
  }
  if (named.network !== network) {
    throw paymentRefused(
      'invalid_network',
      `The network is ${shown(named.network)}; it must be "${network}".`,
    )
  }
}

/** Both rails are `exact` on one network: what tells them apart is the domain that is signed under. */
function railOf(extra: NonNullable<z.output<typeof acceptedSchema>['extra']>): Rail {
  const { name = USDC_DOMAIN.name, version, verifyingContract } = extra
  const isGateway = name === GATEWAY_DOMAIN.name
  const domain = isGateway ? GATEWAY_DOMAIN : USDC_DOMAIN
  const isOurs =
    name === domain.name &&
    (version === undefined || version === domain.version) &&
    (!isGateway || verifyingContract === undefined || verifyingContract === GATEWAY_ADDRESS.toLowerCase())
  if (isOurs) return isGateway ? 'gateway' : 'direct'
  throw paymentRefused(
    'invalid_payment_requirements',
    `accepted.extra names ${shown(name)}, version ${shown(version)}: no offer is signed for under it.`,
  )
}

/** @throws ServiceError `payment_malformed` for a name that is none */
function identifierIn(extensions: unknown): string | undefined {
  const { 'payment-identifier': extension } = (extensions ?? {}) as Record<
    string,
    { info?: unknown } | undefined
  >
  const { id } = (extension?.info ?? {}) as { readonly id?: unknown }
  if (id === undefined) return undefined
  if (typeof id === 'string' && IDENTIFIER.test(id)) return id
  throw new ServiceError('payment_malformed', {
    message: `The payment identifier is ${shown(id)}; it must have 16 to 128 letters, digits, - or _.`,
  })
}

const IDENTIFIER = /^[A-Za-z0-9_-]{16,128}$/

interface Parts extends Pick<PresentedPayment, 'protocol' | 'rail' | 'network' | 'asset' | 'identifier'> {
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
  throw paymentRefused('invalid_payload', `${path}: ${issue?.message ?? 'not valid'}.`)
}
