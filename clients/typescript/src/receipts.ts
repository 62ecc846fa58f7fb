import { type Bytes, fromBase64, utf8 } from './bytes.ts'
import { SignalRefusal } from './refusal.ts'

/** Signed terms of an offer or a payment: `resourceUrl`, `network`, `payer` or `payTo`, and so on. */
export interface SignedTerms {
  readonly version: number
  readonly resourceUrl: string
  readonly network: string
  readonly [member: string]: unknown
}

/**
 * Checks a signed offer, or a receipt (x402, extension `offer-receipt`, format JWS), against the keys that an origin names as
 * its own at `/.well-known/did.json`. One of another service, whose own keys may have signed it, is refused.
 *
 * @param origin the service it has to be of, as in `https://signals.example.com`
 * @throws SignalRefusal `receipt_invalid`
 */
export async function checkReceipt(
  { format, signature }: { readonly format: string; readonly signature: string },
  origin: string,
  {
    fetch: ask = globalThis.fetch,
    now = Date.now(),
  }: { readonly fetch?: typeof fetch; readonly now?: number } = {},
): Promise<SignedTerms> {
  const [head = '', body = '', signed = '', ...more] = signature.split('.')
  if (format !== 'jws' || more.length > 0) throw invalid('it is no compact JWS')
  const { alg, kid } = read(head) as { alg?: string; kid?: string }
  const { host } = new URL(origin)
  const did = `did:web:${encodeURIComponent(host)}`
  if (alg !== 'EdDSA' || kid?.startsWith(`${did}#`) !== true) throw invalid(`it is not signed for ${host}`)
  const response = await ask(new URL('/.well-known/did.json', origin), { redirect: 'error' })
  const document = (await response.json()) as {
    id?: string
    assertionMethod?: readonly string[]
    verificationMethod?: readonly { id: string; publicKeyJwk: object }[]
  }
  const method = document.verificationMethod?.find(({ id }) => id === kid)
  if (document.id !== did || method === undefined || document.assertionMethod?.includes(kid) !== true)
    throw invalid(`${host} does not name this key as its own`)
  const key = await crypto.subtle.importKey('jwk', method.publicKeyJwk, 'Ed25519', false, ['verify'])
  const isSound = await crypto.subtle.verify('Ed25519', key, bytesOf(signed), utf8(`${head}.${body}`))
  if (!isSound) throw invalid('the signature does not fit it')
  const terms = read(body) as SignedTerms & { readonly validUntil?: number }
  const isOfOrigin = URL.canParse(terms.resourceUrl) && new URL(terms.resourceUrl).host === host
  if (terms.version !== 1 || !isOfOrigin) throw invalid(`it is not about ${host}`)
  if (terms.validUntil !== undefined && terms.validUntil * 1_000 < now) throw invalid('the offer has ended')
  return terms
}

function bytesOf(base64url: string): Bytes {
  const base64 = base64url.replaceAll('-', '+').replaceAll('_', '/')
  const bytes = fromBase64(base64.padEnd(Math.ceil(base64.length / 4) * 4, '='))
  if (bytes === undefined) throw invalid('a part of it is no base64url')
  return bytes
}

function read(part: string): object {
  try {
    return JSON.parse(new TextDecoder().decode(bytesOf(part))) as object
  } catch (cause) {
    throw new SignalRefusal('receipt_invalid', 'a part of it is no JSON', { cause })
  }
}

const invalid = (message: string): SignalRefusal => new SignalRefusal('receipt_invalid', message)
