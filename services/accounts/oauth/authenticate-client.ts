import { OAuthError } from '../../../contracts/oauth.ts'
import { hashOf } from '../credentials.ts'
import type { Client } from './client-documents.ts'
import { ASSERTION_TYPE, checkClientProof } from './client-proof.ts'
import { one, type Parameters } from './read-authorization.ts'

/** The identity that a client claims, with its proof. Neither is checked yet. */
export interface ClientCredentials {
  readonly clientId: string
  readonly secret: string | undefined
  readonly assertion: string | undefined
}

/**
 * Reads the one proof that a request brings: a secret in the header (RFC 6749 §2.3.1) or in the body, a signed proof,
 * or none.
 *
 * @throws OAuthError `invalid_client`, `invalid_request` for two at a time
 */
export function readClientCredentials(
  parameters: Parameters,
  authorization: string | undefined,
): ClientCredentials {
  const basic = authorization === undefined ? undefined : readBasic(authorization)
  const [named, secret, assertion] = ['client_id', 'client_secret', 'client_assertion'].map((name) =>
    one(parameters, name),
  )
  if ([basic, secret, assertion].filter((proof) => proof !== undefined).length > 1) {
    throw new OAuthError('invalid_request', 'a client proves who it is in one way at a time')
  }
  if (assertion !== undefined && one(parameters, 'client_assertion_type') !== ASSERTION_TYPE) {
    throw new OAuthError('invalid_request', `client_assertion_type must be ${ASSERTION_TYPE}`)
  }
  const clientId = basic?.clientId ?? named ?? subjectOf(assertion)
  if (clientId === undefined) throw new OAuthError('invalid_client', 'client_id is missing')
  if (named !== undefined && named !== clientId) {
    throw new OAuthError('invalid_client', 'client_id is another than that of the header')
  }
  return { clientId, secret: basic?.secret ?? secret, assertion }
}

function readBasic(authorization: string): { readonly clientId: string; readonly secret: string } {
  const [, text] = /^Basic +([\w+/=-]{1,2048}) *$/i.exec(authorization) ?? []
  const [id, ...rest] = Buffer.from(text ?? '', 'base64')
    .toString('utf8')
    .split(':')
  if (text === undefined || id === undefined || rest.length === 0) {
    throw new OAuthError('invalid_client', 'the Authorization header holds no id and secret of a client')
  }
  try {
    const [clientId, secret] = [id, rest.join(':')].map((part) =>
      decodeURIComponent(part.replaceAll('+', ' ')),
    ) as [string, string]
    return { clientId, secret }
  } catch (cause) {
    throw new OAuthError('invalid_client', 'id and secret of the header are not form-encoded', { cause })
  }
}

/** Whom a signed proof names; it is checked later. */
function subjectOf(assertion: string | undefined): string | undefined {
  if (assertion === undefined) return undefined
  try {
    const [, claims = ''] = assertion.split('.')
    const { sub } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { readonly sub?: unknown }
    return typeof sub === 'string' ? sub : undefined
  } catch (cause) {
    throw new OAuthError('invalid_client', 'client_assertion is no JWT', { cause })
  }
}

/** The stored credentials of a client. */
export interface ClientKnowledge {
  readonly secretHash: string | null
  readonly jwks: Client['jwks']
}

/**
 * @returns the hash of the proof, which is used up, and until when; undefined where a secret was given
 * @throws OAuthError `invalid_client`
 */
export async function authenticate(
  { clientId, secret, assertion }: ClientCredentials,
  known: ClientKnowledge,
  expected: { readonly audiences: readonly string[]; readonly now: number },
): Promise<{ readonly proofHash: string; readonly expiresAt: number } | undefined> {
  if (known.secretHash !== null) {
    if (secret !== undefined && hashOf(secret) === known.secretHash) return undefined
    throw new OAuthError('invalid_client', 'the secret of the client is missing or wrong')
  }
  if (known.jwks === undefined || assertion === undefined) {
    throw new OAuthError('invalid_client', 'the client proves who it is by client_assertion')
  }
  const { proofId, expiresAt } = await checkClientProof(assertion, known.jwks, { clientId, ...expected })
  return { proofHash: hashOf(proofId), expiresAt }
}
