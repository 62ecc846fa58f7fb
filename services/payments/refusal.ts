import { ServiceError } from '../../contracts/errors/errors.ts'

/** Why a payment is refused, in the words of the x402 specification: clients act on them. */
const X402_REASONS = [
  'insufficient_funds',
  'invalid_exact_evm_payload_authorization_valid_after',
  'invalid_exact_evm_payload_authorization_valid_before',
  'invalid_exact_evm_payload_authorization_value',
  'invalid_exact_evm_payload_authorization_value_mismatch',
  'invalid_exact_evm_payload_recipient_mismatch',
  'invalid_exact_evm_payload_signature',
  'invalid_network',
  'invalid_payload',
  'invalid_payment_requirements',
  'invalid_transaction_state',
  'invalid_x402_version',
  'unexpected_settle_error',
  'unexpected_verify_error',
  'unsupported_scheme',
] as const
export type X402Reason = (typeof X402_REASONS)[number]
export const isX402Reason = (text: string): text is X402Reason => X402_REASONS.includes(text as X402Reason)

/** Refuses a payment that could be read. @param message what is wrong with it, with the value that was seen */
export const paymentRefusedError = (reason: X402Reason, message: string): ServiceError =>
  new ServiceError('payment_refused', { message, details: { reason } })

const SHOWN_CHARACTERS = 80

/** A value that a client sent, short enough to be repeated to it. @example shown('base-sepolia') === '"base-sepolia"' */
export function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : (JSON.stringify(value) ?? typeof value)
  return text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}…`
}
