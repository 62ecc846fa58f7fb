import { OAuthError, SCOPES, type Scope } from '../../../contracts/domain/oauth.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Client } from './client-documents.ts'
import { isRegistered, redirectFault } from './redirects.ts'

/** Parameters as they came; a list where one came several times. */
export type Parameters = Readonly<Record<string, string | readonly string[] | undefined>>

/** The destination of the answer to a request: only an address that the client registered. */
export interface Destination {
  readonly client: Client
  readonly redirectUri: string
  readonly state: string | undefined
}

/** An authorization request of a client. */
export interface AuthorizationRequest extends Destination {
  readonly challenge: string
  readonly scopes: readonly Scope[]
}

/** A parameter that may come once. @throws OAuthError `invalid_request` */
export function one(parameters: Parameters, name: string): string | undefined {
  const value = parameters[name]
  if (value === undefined || typeof value === 'string') return value === '' ? undefined : value
  throw new OAuthError('invalid_request', `${name} came several times`)
}

/** @throws OAuthError */
export function required(parameters: Parameters, name: string): string {
  const value = one(parameters, name)
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing`)
  return value
}

/**
 * Reads the destination of the answer. Its faults are shown to the person at the browser and sent nowhere.
 *
 * @throws OAuthError
 */
export function readDestination(parameters: Parameters, client: Client): Destination {
  const redirectUri = required(parameters, 'redirect_uri')
  const fault = redirectFault(redirectUri)
  if (fault !== undefined) throw new OAuthError('invalid_request', `redirect_uri ${fault}`)
  if (!isRegistered(redirectUri, client.redirectUris)) {
    throw new OAuthError('invalid_request', 'redirect_uri is none of those that the client names')
  }
  const state = one(parameters, 'state')
  if (state !== undefined && state.length > LIMITS.oauthStateCharacters) {
    throw new OAuthError('invalid_request', `state has more than ${LIMITS.oauthStateCharacters} characters`)
  }
  return { client, redirectUri, state }
}

/**
 * Reads the rest of the request. Its faults are sent to the client.
 *
 * @param resource the address that tokens are for
 * @throws OAuthError
 */
export function readAuthorization(
  parameters: Parameters,
  destination: Destination,
  resource: string,
): AuthorizationRequest {
  if (required(parameters, 'response_type') !== 'code') {
    throw new OAuthError('unsupported_response_type', 'response_type must be code')
  }
  for (const name of ['request', 'request_uri']) {
    if (parameters[name] !== undefined) throw new OAuthError('invalid_request', `${name} is not read here`)
  }
  const mode = one(parameters, 'response_mode')
  if (mode !== undefined && mode !== 'query') {
    throw new OAuthError('invalid_request', 'response_mode must be query')
  }
  const challenge = required(parameters, 'code_challenge')
  if (one(parameters, 'code_challenge_method') !== 'S256') {
    throw new OAuthError('invalid_request', 'code_challenge_method must be S256')
  }
  if (!/^[\w-]{43}$/.test(challenge)) {
    throw new OAuthError('invalid_request', 'code_challenge must be the 43 characters of a SHA-256')
  }
  requireResource(parameters, resource)
  return { ...destination, challenge, scopes: readScopes(one(parameters, 'scope')) }
}

/** Reads the scopes; the default is `calls`. @throws OAuthError `invalid_scope` */
export function readScopes(text: string | undefined): readonly Scope[] {
  const named = (text ?? 'calls').split(' ').filter((name) => name !== '')
  const unknown = named.find((name) => !(SCOPES as readonly string[]).includes(name))
  if (unknown !== undefined || named.length === 0) {
    throw new OAuthError('invalid_scope', `scope must be of ${SCOPES.join(' ')}`)
  }
  return SCOPES.filter((scope) => named.includes(scope))
}

/** A token is for the one resource there is, named or not (RFC 8707). @throws OAuthError `invalid_target` */
export function requireResource(parameters: Parameters, resource: string): void {
  const { resource: given = [] } = parameters
  for (const named of [given].flat()) {
    if (!isResource(named, resource)) throw new OAuthError('invalid_target', `resource must be ${resource}`)
  }
}

/** Hosts are compared as hosts, the path as it stands; clients that were told to ask for sign-in keep that query. */
function isResource(named: string, resource: string): boolean {
  if (named.length > LIMITS.oauthUrlCharacters || named.includes('#') || !URL.canParse(named)) return false
  const { origin, username, password, pathname, search } = new URL(named)
  const known = new URL(resource)
  return (
    origin === known.origin &&
    username + password === '' &&
    pathname === known.pathname &&
    ['', '?auth=required'].includes(search)
  )
}
