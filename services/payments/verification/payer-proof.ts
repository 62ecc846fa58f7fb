import { timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { DOCUMENTED_ADDRESS } from '../../../contracts/documented-address.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { hmacKey, hmacSha256 } from '../../runtime/ids/hmac.ts'
import type { PresentedPayment, PresentedProof } from '../payments.ts'
import { shown } from '../refusal.ts'

export interface PayerProofsOptions {
  /** Secret bytes that are for nothing else; every process of a log has the same. */
  readonly key: Uint8Array
  /** The address under which callers reach the service. */
  readonly publicUrl: () => string
  /** Unix milliseconds. */
  readonly now: () => number
}

export type PayerProofs = ReturnType<typeof createPayerProofs>

/** Without control characters: a line break could pass for the beginning of another field. */
const line = z
  .string()
  .max(500)
  .regex(/^\P{Cc}+$/u)
const instant = z.iso.datetime({ offset: true })

/** A message of EIP-4361 by its fields, and its signature: what the header SIGN-IN-WITH-X holds (x402, `sign-in-with-x`). */
const signInSchema = z.object({
  domain: line,
  address: z.string().regex(/^0x[0-9a-fA-F]{40}$/),
  statement: line.optional(),
  uri: line,
  version: z.literal('1'),
  chainId: line,
  type: z.literal('eip191'),
  nonce: line,
  issuedAt: instant,
  expirationTime: instant.optional(),
  notBefore: instant.optional(),
  requestId: line.optional(),
  resources: z.array(line).max(16).optional(),
  signature: z.string().regex(/^0x[0-9a-fA-F]{130}$/),
})
type SignIn = z.output<typeof signInSchema>

/**
 * The proof that a request brings beside its payment; undefined where it brings none.
 *
 * @param rawHeaders names and values in turn
 */
export function readProof(rawHeaders: readonly string[]): PresentedProof | undefined {
  let proof: PresentedProof | undefined
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase()
    if (name === 'payment-secret') proof = { ...proof, secret: rawHeaders[index + 1] ?? '' }
    if (name === 'sign-in-with-x') proof = { ...proof, signIn: rawHeaders[index + 1] ?? '' }
  }
  return proof
}

/**
 * Tells a payer from everybody who reads the chain, where the transaction shows authorization and signature: by the secret that came
 * with the answer, or by a fresh signature where that answer was lost.
 */
export function createPayerProofs({ key, publicUrl, now }: PayerProofsOptions) {
  const origin = (): URL => new URL(publicUrl() || DOCUMENTED_ADDRESS)

  const prepared = hmacKey(key)
  const secretOf = (paymentId: string): string =>
    hmacSha256(prepared, `payment ${paymentId}`, undefined, 'base64url')

  /** Why a message is not the payer's word about this payment, here and now; undefined where it is. */
  function faultIn(signIn: SignIn, { on, payer, nonce }: PresentedPayment): string | undefined {
    const { host, origin: own } = origin()
    const expected = { domain: host, chainId: on.network, nonce: nonce.slice(2) } as const
    for (const [name, value] of Object.entries(expected)) {
      const given = signIn[name as keyof typeof expected]
      if (given !== value) return `its ${name} is ${shown(given)} and must be "${value}"`
    }
    if (signIn.address.toLowerCase() !== payer) return `its address is ${signIn.address}, not the payer`
    if (originOf(signIn.uri) !== own) return `its uri is ${shown(signIn.uri)} and must be of ${own}`
    const ageMs = now() - Date.parse(signIn.issuedAt)
    if (ageMs > LIMITS.payerSignInMs || ageMs < -LIMITS.payerSignInAheadMs)
      return `it was issued at ${signIn.issuedAt}; it is taken for ${LIMITS.payerSignInMs / 60_000} minutes`
    const { expirationTime, notBefore } = signIn
    if (expirationTime !== undefined && Date.parse(expirationTime) <= now()) return 'it has expired'
    if (notBefore !== undefined && Date.parse(notBefore) > now()) return 'its time has not come'
    return undefined
  }

  async function faultOf(text: string, presented: PresentedPayment): Promise<string | undefined> {
    const parsed = signInSchema.safeParse(decoded(text))
    const issue = parsed.error?.issues[0]
    if (!parsed.success)
      return `SIGN-IN-WITH-X.${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not valid'}`
    const fault = faultIn(parsed.data, presented)
    if (fault !== undefined) return `SIGN-IN-WITH-X: ${fault}`
    const signature = parsed.data.signature as `0x${string}`
    const { recoverMessageAddress } = await import('viem')
    // The form of everything else was checked, so what no signer can be found for is the signature.
    const signer = await recoverMessageAddress({ message: messageOf(parsed.data), signature }).catch(
      () => undefined,
    )
    return signer?.toLowerCase() === presented.payer
      ? undefined
      : `SIGN-IN-WITH-X: the message was signed by ${signer ?? 'nobody'}`
  }

  return {
    /** Opens the answer of one payment; derived, so that the log does not hold it. */
    secretOf,
    /**
     * @param paymentId undefined where the payment has no claim, and so no secret
     * @throws ServiceError `payment_unproven`, with what the payer has to sign
     */
    async require(presented: PresentedPayment, paymentId: string | undefined): Promise<void> {
      const { on, proof, nonce } = presented
      if (proof?.secret !== undefined && paymentId !== undefined && isSame(proof.secret, secretOf(paymentId)))
        return
      const given = proof?.secret === undefined ? NO_PROOF : WRONG_SECRET
      const why = proof?.signIn === undefined ? given : await faultOf(proof.signIn, presented)
      if (why === undefined) return
      const { host: domain, origin: uri } = origin()
      throw new ServiceError('payment_unproven', {
        message: `This payment was handed over to the chain, where everybody can read its signature, and the request does not prove that it is its payer's: ${why}. Nothing was charged.`,
        details: {
          sign_in: { domain, uri, version: '1', chainId: on.network, type: 'eip191', nonce: nonce.slice(2) },
        },
      })
    },
  }
}

const NO_PROOF = 'Payment-Secret and SIGN-IN-WITH-X are missing'
const WRONG_SECRET = 'Payment-Secret is not that of this payment'

/** The text that is signed (EIP-4361). */
function messageOf(signIn: SignIn): string {
  const { domain, address, statement, uri, version, chainId, nonce, issuedAt, resources } = signIn
  const lines = [
    `${domain} wants you to sign in with your Ethereum account:`,
    address,
    '',
    ...(statement === undefined ? [] : [statement]),
    '',
    `URI: ${uri}`,
    `Version: ${version}`,
    `Chain ID: ${chainId.slice('eip155:'.length)}`,
    `Nonce: ${nonce}`,
    `Issued At: ${issuedAt}`,
    ...(signIn.expirationTime === undefined ? [] : [`Expiration Time: ${signIn.expirationTime}`]),
    ...(signIn.notBefore === undefined ? [] : [`Not Before: ${signIn.notBefore}`]),
    ...(signIn.requestId === undefined ? [] : [`Request ID: ${signIn.requestId}`]),
    ...(resources === undefined ? [] : ['Resources:', ...resources.map((resource) => `- ${resource}`)]),
  ]
  return lines.join('\n')
}

function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** JSON, or base64 of it; undefined for what is neither. */
function decoded(text: string): unknown {
  try {
    return JSON.parse(text.startsWith('{') ? text : Buffer.from(text, 'base64').toString()) as unknown
  } catch {
    return undefined
  }
}

function originOf(uri: string): string | undefined {
  return URL.canParse(uri) ? new URL(uri).origin : undefined
}
