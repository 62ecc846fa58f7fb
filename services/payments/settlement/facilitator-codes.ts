import type { X402Reason } from '../refusal.ts'

/** A code's meaning for a settlement: under way, done before, or not done for want of money or for another reason. */
export type CodeKind = 'pending' | 'used' | 'insufficient_funds' | 'refused'

interface CodeMeaning {
  readonly kind: CodeKind
  /** The same in the words of x402, for the payer. */
  readonly reason: X402Reason
}

const SIGNATURE = 'invalid_exact_evm_payload_signature'
const VALID_AFTER = 'invalid_exact_evm_payload_authorization_valid_after'
const VALID_BEFORE = 'invalid_exact_evm_payload_authorization_valid_before'
const VALUE = 'invalid_exact_evm_payload_authorization_value'
const RECIPIENT = 'invalid_exact_evm_payload_recipient_mismatch'
const STATE = 'invalid_transaction_state'
const SHORT = 'insufficient_funds'

/** The codes of the x402 specification, of its reference facilitator and of Circle's gateway, each as a whole. */
const CODES: Readonly<Record<CodeKind, Readonly<Record<string, X402Reason>>>> = {
  pending: { settlement_pending: STATE },
  used: { nonce_already_used: STATE, invalid_exact_evm_nonce_already_used: STATE },
  insufficient_funds: {
    insufficient_funds: SHORT,
    insufficient_balance: SHORT,
    invalid_exact_evm_insufficient_balance: SHORT,
  },
  refused: {
    [SIGNATURE]: SIGNATURE,
    invalid_exact_evm_signature: SIGNATURE,
    invalid_exact_evm_failed_to_parse_signature: SIGNATURE,
    invalid_signature: SIGNATURE,
    [VALID_AFTER]: VALID_AFTER,
    authorization_not_yet_valid: VALID_AFTER,
    [VALID_BEFORE]: VALID_BEFORE,
    authorization_expired: VALID_BEFORE,
    authorization_validity_too_short: VALID_BEFORE,
    [VALUE]: VALUE,
    [`${VALUE}_mismatch`]: `${VALUE}_mismatch`,
    invalid_exact_evm_authorization_value: VALUE,
    amount_mismatch: VALUE,
    [RECIPIENT]: RECIPIENT,
    invalid_exact_evm_recipient_mismatch: RECIPIENT,
    address_mismatch: RECIPIENT,
    self_transfer: RECIPIENT,
    wallet_not_found: 'invalid_payload',
    invalid_payload: 'invalid_payload',
    invalid_payment_requirements: 'invalid_payment_requirements',
    unsupported_asset: 'invalid_payment_requirements',
    invalid_network: 'invalid_network',
    unsupported_network: 'invalid_network',
    unsupported_domain: 'invalid_network',
    invalid_x402_version: 'invalid_x402_version',
    unsupported_scheme: 'unsupported_scheme',
  },
}

const MEANINGS: ReadonlyMap<string, CodeMeaning> = new Map(
  Object.entries(CODES).flatMap(([kind, codes]) =>
    Object.entries(codes).map(([code, reason]) => [code, { kind: kind as CodeKind, reason }] as const),
  ),
)

/** A code's meaning; undefined for any other text, which decides nothing about money. */
export const meaningOf = (code: string): CodeMeaning | undefined => MEANINGS.get(code)
