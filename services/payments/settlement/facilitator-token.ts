import { type KeyObject, randomBytes } from 'node:crypto'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { ed25519KeyOf } from '../../runtime/secrets/ed25519.ts'

/** Makes the value of `Authorization` for one request to a facilitator. */
export type Authorize = (method: 'GET' | 'POST', url: URL) => string | Promise<string>

/** How long a token is good for: a request is answered or given up long before. */
const TOKEN_S = 120
/** A secret is a seed, followed by its public key. */
const SEED_BYTES = 32
const SECRET_BYTES = 64

/**
 * Tokens of Coinbase's Developer Platform: a JWT for each request, signed by the key (EdDSA), bound to method, host
 * and path.
 *
 * @param cdpKey `id:secret`; the secret is an Ed25519 key as 64 bytes in base64, as the platform issues it
 * @param now Unix milliseconds
 * @throws ServiceError `config_invalid`
 * @example await cdpAuthorize('id:MC4C…', Date.now)('POST', new URL('https://api.cdp.coinbase.com/platform/v2/x402/settle'))
 */
export function cdpAuthorize(cdpKey: string, now: () => number): Authorize {
  const split = cdpKey.indexOf(':')
  const [id, secret] = [cdpKey.slice(0, split), cdpKey.slice(split + 1)]
  const key = readKey(secret)
  return async (method, url) => {
    const issuedAt = Math.floor(now() / 1_000)
    const claims = {
      iss: 'cdp',
      sub: id,
      iat: issuedAt,
      nbf: issuedAt,
      exp: issuedAt + TOKEN_S,
      uris: [`${method} ${url.host}${url.pathname}`],
    }
    const { SignJWT } = await import('jose')
    const header = { alg: 'EdDSA', typ: 'JWT', kid: id, nonce: randomBytes(16).toString('hex') }
    return `Bearer ${await new SignJWT(claims).setProtectedHeader(header).sign(key)}`
  }
}

function readKey(secret: string): KeyObject {
  const bytes = Buffer.from(secret, 'base64')
  if (bytes.length === SECRET_BYTES) return ed25519KeyOf(bytes.subarray(0, SEED_BYTES))
  throw new ServiceError('config_invalid', {
    message: `X402_CDP_KEY has ${bytes.length} bytes of base64 behind its colon; an Ed25519 key of the platform has ${SECRET_BYTES}`,
  })
}
