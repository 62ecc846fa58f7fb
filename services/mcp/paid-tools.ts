import type { ServiceError } from '../../contracts/errors.ts'
import type { Json, JsonObject } from '../../contracts/json.ts'
import type { PaidCall, PaidCallPath, PaidOutcome } from '../tool-calls/index.ts'
import { type Caller, refusalBody, type ToolOutcome } from './tool-outcome.ts'

/** The field for the payment of a call (x402, transport for MCP). */
const PAYMENT_META_KEY = 'x402/payment'
/** Headers of the other transport that prove who the payer is, by their members here. */
const PROOF_HEADERS = {
  'x402/payment-secret': 'Payment-Secret',
  'x402/sign-in-with-x': 'SIGN-IN-WITH-X',
} as const
/** Clients that name it get the price by a result of its own type. */
export const PAYMENT_EXTENSION = 'org.x402/payment'

/**
 * The payment in the metadata of a call, and the proof beside it, as lines of headers; undefined where there is no payment. The
 * header holds the same JSON, as it is or in base64.
 */
export function paymentLines(meta: JsonObject | undefined): readonly string[] | undefined {
  const payment = meta?.[PAYMENT_META_KEY]
  if (meta === undefined || payment === undefined) return undefined
  const proofs = Object.entries(PROOF_HEADERS).flatMap(([key, name]) => {
    const proof = meta[key]
    return proof === undefined ? [] : [name, typeof proof === 'string' ? proof : JSON.stringify(proof)]
  })
  return ['PAYMENT-SIGNATURE', JSON.stringify(payment), ...proofs]
}

type Pay = PaidCallPath['call']

/** A call of a tool as the path of paid calls takes it. */
export const paidCallOf = (
  { sender, signal }: Caller,
  tool: string,
  request: Json,
): Omit<PaidCall, 'rawHeaders'> => ({
  tool,
  body: { lenient: request, isEmpty: false, require: () => request },
  ...sender,
  signal,
  channel: 'mcp',
})

/**
 * Calls a tool with a payment, by the path that paid routes take: the same authorization has the same answer here and
 * there, and is charged once.
 *
 * @throws ServiceError as the path does
 */
export async function payForTool(pay: Pay, call: PaidCall): Promise<ToolOutcome> {
  const outcome = await pay(call)
  if (outcome.kind === 'offer') return { kind: 'offer', body: requiredOf(outcome.offer, outcome.refusal) }
  const { receipt, ...answer } = outcome
  return { ...answer, settlement: receipt && (decoded(receipt.value) as JsonObject) }
}

/**
 * The offer for a call that was refused because no calls are left; undefined where nothing can be paid.
 *
 * @param refusal why it is to be paid for
 */
export async function offerForTool(
  pay: Pay,
  call: Omit<PaidCall, 'rawHeaders'>,
  refusal: ServiceError,
): Promise<ToolOutcome | undefined> {
  const outcome = await pay({ ...call, authorization: undefined, rawHeaders: [] })
  if (outcome.kind !== 'offer') return undefined
  const body = requiredOf(outcome.offer, refusal)
  return Array.isArray(body.accepts) && body.accepts.length > 0 ? { kind: 'offer', body } : undefined
}

/** `PaymentRequired` of version 2, with the members that every refusal here has. */
function requiredOf(
  offer: Extract<PaidOutcome, { kind: 'offer' }>['offer'],
  refusal: ServiceError,
): JsonObject {
  return { ...(decoded(offer.header) as JsonObject), ...refusalBody(refusal) }
}

const decoded = (base64: string): Json => JSON.parse(Buffer.from(base64, 'base64').toString()) as Json
