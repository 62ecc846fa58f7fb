import { z } from 'zod'
import { LIMITS } from '../../../contracts/limits.ts'

const keysSchema = z.object({ keys: z.array(z.record(z.string(), z.unknown())).min(1).max(8) })

/** Public keys of a client (RFC 7517). */
export type ClientKeys = Readonly<z.infer<typeof keysSchema>>
type Key = ClientKeys['keys'][number]

/**
 * Reads keys as a client gives them. A private one is refused, since it is none any more; so is an RSA key that is larger
 * than anybody needs, since checking what it signed costs so much more.
 *
 * @returns the keys, or a text that says what is wrong with them and what to do
 * @example readClientKeys({ keys: [{ kty: 'EC', crv: 'P-256', x, y }] })
 */
export function readClientKeys(given: unknown): ClientKeys | string {
  const read = keysSchema.safeParse(given)
  if (!read.success) return 'must be a JWK set of one to eight public keys'
  const { keys } = read.data
  if (keys.some((key) => 'd' in key || 'k' in key)) {
    return 'holds a private key; make a new pair and give its public half'
  }
  if (keys.some(isTooLarge)) {
    return `holds an RSA key of more than ${LIMITS.clientKeyBits} bits, or with an exponent above ${LIMITS.clientKeyExponent}; use a P-256 key (ES256), or RSA of 2048 to ${LIMITS.clientKeyBits} bits with the exponent 65537`
  }
  return { keys }
}

function isTooLarge({ kty, n, e }: Key): boolean {
  if (kty !== 'RSA') return false
  const [modulus, exponent] = [numberOf(n), numberOf(e)]
  return (
    modulus === undefined ||
    exponent === undefined ||
    modulus >> BigInt(LIMITS.clientKeyBits) !== 0n ||
    exponent > BigInt(LIMITS.clientKeyExponent)
  )
}

/** Digits of the longest number that is read: far more than a key that is taken has. */
const MOST_CHARACTERS = 1_024

function numberOf(text: unknown): bigint | undefined {
  if (typeof text !== 'string' || !/^[\w-]+$/.test(text) || text.length > MOST_CHARACTERS) return undefined
  return BigInt(`0x0${Buffer.from(text, 'base64url').toString('hex')}`)
}
