import type { TokenRefusal } from './chain.ts'

/** What the words of USDC's refusals mean. */
const WORDS: readonly (readonly [RegExp, TokenRefusal['reason']])[] = [
  [/used or cancell?ed/i, 'used'],
  [/is expired/i, 'expired'],
  [/not yet valid/i, 'not_yet_valid'],
  [/exceeds balance/i, 'insufficient_funds'],
  [/blacklisted/i, 'blacklisted'],
  [/signature/i, 'invalid_signature'],
]

/**
 * What a refusal of the token means for a payment.
 *
 * @param words as the token says them
 * @param hasCode of the payer: then its code was asked, whatever the signature is
 * @example tokenRefusal('ERC20: transfer amount exceeds balance', false).reason === 'insufficient_funds'
 */
export function tokenRefusal(words: string, hasCode: boolean): TokenRefusal {
  const reason = WORDS.find(([pattern]) => pattern.test(words))?.[1] ?? 'other'
  const detail = words.slice(0, 160)
  return { reason: reason === 'invalid_signature' && hasCode ? 'contract_account' : reason, detail }
}
