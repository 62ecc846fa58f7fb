import { createPrivateKey, type KeyObject, randomBytes } from 'node:crypto'
import { ServiceError } from '../../../contracts/errors.ts'
import { ed25519KeyOf } from '../../runtime/secrets/ed25519.ts'

/** Makes the value of `Authorization` for one request to a facilitator. */
export type Authorize = (method: 'GET' | 'POST', url: URL) => string | Promise<string>

/** How long a token is good for: a request is answered or given up long before. */
const TOKEN_S = 120

/**
 * Tokens of Coinbase's Developer Platform: a JWT for each request, signed by the key (EdDSA for Ed25519, ES256 for
 * P-256), bound to method, host and path.
 *
 * @param cdpKey `id:secret`; the secret is an Ed25519 key as 64 bytes in base64, or a private key as PKCS #8 or SEC 1,
 *   in base64 or PEM with `\n` for its line ends
 * @param now Unix milliseconds
 * @throws ServiceError `config_invalid`
 * @example await cdpAuthorize('id:MC4C…', Date.now)('POST', new URL('https://api.cdp.coinbase.com/platform/v2/x402/settle'))
 */
export function cdpAuthorize(cdpKey: string, now: () => number): Authorize {
  const split = cdpKey.indexOf(':')
  const [id, secret] = [cdpKey.slice(0, split), cdpKey.slice(split + 1)]
  const key = readKey(secret)
  const isEd25519 = key.asymmetricKeyType === 'ed25519'
  return async (method, url) => {
    const issuedAt = Math.floor(now() / 1_000)
    const header = {
      alg: isEd25519 ? 'EdDSA' : 'ES256',
      typ: 'JWT',
      kid: id,
      nonce: randomBytes(16).toString('hex'),
    }
    const claims = {
      iss: 'cdp',
      sub: id,
      iat: issuedAt,
      nbf: issuedAt,
      exp: issuedAt + TOKEN_S,
      uris: [`${method} ${url.host}${url.pathname}`],
    }
    const { SignJWT } = await import('jose')
    return `Bearer ${await new SignJWT(claims).setProtectedHeader(header).sign(key)}`
  }
}

/** The public key follows the seed. */
const SEED_BYTES = 32

function readKey(secret: string): KeyObject {
  const pem = secret.replaceAll('\\n', '\n')
  const bytes = Buffer.from(secret, 'base64')
  const tries: (() => KeyObject)[] = pem.includes('-----BEGIN')
    ? [() => createPrivateKey(pem)]
    : bytes.length === 64
      ? [() => ed25519KeyOf(bytes.subarray(0, SEED_BYTES))]
      : [
          () => createPrivateKey({ key: bytes, format: 'der', type: 'pkcs8' }),
          () => createPrivateKey({ key: bytes, format: 'der', type: 'sec1' }),
        ]
  for (const read of tries) {
    const key = keyOf(read)
    const curve = key?.asymmetricKeyDetails?.namedCurve
    if (key !== undefined && (key.asymmetricKeyType === 'ed25519' || curve === 'prime256v1')) return key
  }
  throw new ServiceError('config_invalid', {
    message: 'X402_CDP_KEY holds no private key of Ed25519 or P-256 behind its colon',
  })
}

/** The key, or undefined: what node:crypto throws may show parts of it. */
function keyOf(read: () => KeyObject): KeyObject | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
