import type { FastifyRequest } from 'fastify'
import type { Json, JsonObject } from '../../contracts/json.ts'
import type { Scope } from '../../contracts/oauth.ts'
import { bringsAccessToken, type Identity } from '../accounts/index.ts'
import { isJsonObject, RpcFault } from './jsonrpc.ts'

/** The check of access tokens, with which programs sign in. */
export interface BearerOptions {
  readonly identify: (authorization: string) => Promise<Identity>
  /** Address at which clients read how to get a token (RFC 9728). */
  readonly metadataUrl: () => string
  /** The scope that a tool requires, by its name. */
  readonly scopeOf: (tool: Json | undefined) => Scope
}

/** A client that sends this is asked to sign in; others are served as anonymous. */
const ASKS_FOR_SIGN_IN = /[?&]auth=required(?:&|$)/

/** Tells a client to sign in (RFC 6750 §3). */
const challenge = (
  status: 401 | 403,
  code: 'unauthorized' | 'token_refused' | 'insufficient_scope',
  message: string,
  { id, header }: { readonly id: string; readonly header: string },
): RpcFault =>
  new RpcFault('transport', message, {
    status,
    data: { code, request_id: id },
    headers: { 'www-authenticate': `Bearer ${header}` },
  })

/**
 * Checks an access token and the scope that the message requires. A key is checked here only if the client asked to sign
 * in.
 *
 * @throws RpcFault
 */
export async function checkBearer(
  { identify, metadataUrl, scopeOf }: BearerOptions,
  { headers: { authorization }, url, id }: Pick<FastifyRequest, 'headers' | 'url' | 'id'>,
  message: JsonObject,
): Promise<void> {
  const isToken = bringsAccessToken(authorization)
  if (!isToken && !ASKS_FOR_SIGN_IN.test(url)) return
  const metadata = `resource_metadata="${metadataUrl()}"`
  if (authorization === undefined) {
    const why = 'Unauthorized: sign in by OAuth, or send an API key'
    throw challenge(401, 'unauthorized', why, { id, header: `${metadata}, scope="calls"` })
  }
  const identity = await identify(authorization)
  if (identity.outcome === 'INDETERMINATE') return
  if (identity.outcome !== 'OK') {
    const problem = isToken
      ? 'the access token has expired, was revoked, or is for another service'
      : 'what was sent is no key that applies'
    const header = `error="invalid_token", error_description="${problem}", ${metadata}`
    throw challenge(401, 'token_refused', `Unauthorized: ${problem}`, { id, header })
  }
  const { method, params } = message
  if (method !== 'tools/call') return
  const scope = scopeOf(isJsonObject(params) ? params.name : undefined)
  if (identity.scopes?.includes(scope) !== false) return
  const problem = `the program was not let do this; it takes the scope ${scope}`
  const wanted = [...new Set([...identity.scopes, scope])].join(' ')
  const header = `error="insufficient_scope", scope="${wanted}", error_description="${problem}", ${metadata}`
  throw challenge(403, 'insufficient_scope', `Forbidden: ${problem}`, { id, header })
}
