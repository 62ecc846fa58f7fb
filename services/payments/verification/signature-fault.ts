/** Half the order of the curve (SEC 2 §2.4.1): of the two values that s can have, the token takes the lower one. */
const HIGHEST_S = '7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0'
const ORDER = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141'
const ZERO = '0'.repeat(64)

/**
 * What the token would not take of a signature, whoever made it; undefined where it has its form. Recovery takes
 * more: a high s, and a v of 0 or 1, that the token reverts on. Who flips s would be served for nothing.
 *
 * @param signature hexadecimal digits in lower case, with 0x in front
 */
export function signatureFault(signature: string): string | undefined {
  if (signature.length !== 132) {
    return `the signature has ${(signature.length - 2) / 2} bytes and must have 65: accounts with code are not taken yet`
  }
  const [r, s, v] = [signature.slice(2, 66), signature.slice(66, 130), signature.slice(130)]
  if (v !== '1b' && v !== '1c') return `its v is ${Number.parseInt(v, 16)} and must be 27 or 28`
  // Digits of one length and case: their order as text is that of the numbers.
  if (r === ZERO || r >= ORDER) return 'its r is not a number of the curve'
  if (s === ZERO || s > HIGHEST_S) return 'its s is zero or in the upper half, which the token does not take'
  return undefined
}
