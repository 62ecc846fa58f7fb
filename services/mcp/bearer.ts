import type { FastifyRequest } from 'fastify'
import type { Json, JsonObject } from '../../contracts/json.ts'
import type { Scope } from '../../contracts/oauth.ts'
import { bringsAccessToken, type Identity } from '../accounts/index.ts'
import { isJsonObject } from './jsonrpc.ts'

/** The check of access tokens, with which programs sign in. */
export interface BearerOptions {
  readonly identify: (authorization: string) => Promise<Identity>
  /** Address at which clients read how to get a token (RFC 9728). */
  readonly metadataUrl: () => string
  /** The scope that a tool requires, by its name. */
  readonly scopeOf: (tool: Json | undefined) => Scope
}

/** A request that is answered by telling its client to sign in (RFC 6750 §3). */
export interface Challenge {
  readonly status: 401 | 403
  readonly message: string
  readonly code: 'unauthorized' | 'token_refused' | 'insufficient_scope'
  /** Value of `WWW-Authenticate`. */
  readonly header: string
}

/** A client that sends this is asked to sign in; others are served as anonymous. */
const ASKS_FOR_SIGN_IN = /[?&]auth=required(?:&|$)/

/** The scope that a message requires; undefined for a message without a requirement. */
function scopeFor({ method, params }: JsonObject, scopeOf: BearerOptions['scopeOf']): Scope | undefined {
  if (method !== 'tools/call') return undefined
  return scopeOf(isJsonObject(params) ? params.name : undefined)
}

/**
 * The refusal of an access token, or of a missing credential; undefined where the request goes on.
 * Keys are not looked at here, but where a client asked to be told: there what does not hold is challenged too.
 */
export async function challengeOf(
  { identify, metadataUrl, scopeOf }: BearerOptions,
  { headers: { authorization }, url }: Pick<FastifyRequest, 'headers' | 'url'>,
  message: JsonObject,
): Promise<Challenge | undefined> {
  const isToken = bringsAccessToken(authorization)
  const isAsked = ASKS_FOR_SIGN_IN.test(url)
  if (!isToken && !isAsked) return undefined
  const metadata = `resource_metadata="${metadataUrl()}"`
  if (authorization === undefined) {
    const why = 'Unauthorized: sign in by OAuth, or send an API key'
    const header = `Bearer ${metadata}, scope="calls"`
    return { status: 401, code: 'unauthorized', message: why, header }
  }
  const identity = await identify(authorization)
  if (identity.outcome === 'INDETERMINATE') return undefined
  if (identity.outcome !== 'OK') {
    const problem = isToken
      ? 'the access token has expired, was revoked, or is for another service'
      : 'what was sent is no key that applies'
    const header = `Bearer error="invalid_token", error_description="${problem}", ${metadata}`
    return { status: 401, code: 'token_refused', message: `Unauthorized: ${problem}`, header }
  }
  const scope = scopeFor(message, scopeOf)
  if (scope === undefined || identity.scopes?.includes(scope) !== false) return undefined
  const problem = `the program was not let do this; it takes the scope ${scope}`
  const wanted = [...new Set([...identity.scopes, scope])].join(' ')
  const header = `Bearer error="insufficient_scope", scope="${wanted}", error_description="${problem}", ${metadata}`
  return { status: 403, code: 'insufficient_scope', message: `Forbidden: ${problem}`, header }
}
