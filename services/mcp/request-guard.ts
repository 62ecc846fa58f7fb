import { isIP, isIPv6 } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { JsonObject } from '../../contracts/infra/json.ts'
import { type Accounts, bringsAccessToken } from '../accounts/index.ts'
import { RESOURCE_METADATA_PATH } from '../http/routes/oauth.ts'
import { isJsonObject, RpcFault } from './jsonrpc.ts'
import { scopeOfTool } from './tools.ts'

/** Which requests may come in by the names they use: what keeps web pages of others out. */
export interface RequestGuard {
  /** Names the service is reached by, in lower case and without a port; IPv6 addresses in brackets. */
  readonly hosts: readonly string[]
  /** Any address counts as a name: a page can bind its own name to this service, not an address. */
  readonly admitsAddresses: boolean
  /** Origins of the pages, besides the service's own, whose scripts may call. */
  readonly origins: readonly string[]
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
const WILDCARDS = ['0.0.0.0', '[::]']

/** The guard of a server that listens on `host` and is known as `publicUrl`. */
export function requestGuard(options: {
  readonly host: string
  readonly publicUrl?: string | undefined
  readonly origins: readonly string[]
}): RequestGuard {
  const host = isIPv6(options.host) ? `[${options.host}]` : options.host.toLowerCase()
  const isWildcard = WILDCARDS.includes(host)
  const names = [host]
  if (isWildcard || LOOPBACK.includes(host) || host.startsWith('127.')) names.push(...LOOPBACK)
  if (options.publicUrl !== undefined) names.push(new URL(options.publicUrl).hostname)
  return {
    hosts: [...new Set(names)].filter((name) => !WILDCARDS.includes(name)),
    admitsAddresses: isWildcard,
    origins: options.origins,
  }
}

/**
 * Why a request is not let in; undefined where it is. Without these two checks a page that a browser shows
 * could have its own name resolve to this service and read what it answers.
 *
 * @param host the `Host` header.
 * @param origin the `Origin` header; programs send none.
 */
export function refusalOf(guard: RequestGuard, host: string | undefined, origin: string | undefined) {
  // The name in a `Host` header, without the port (RFC 9110 §7.2).
  const [, name] = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/.exec(host?.toLowerCase() ?? '') ?? []
  if (name === undefined || !(guard.hosts.includes(name) || (guard.admitsAddresses && isAddress(name)))) {
    return `Forbidden: this service is not called ${shown(host)}; set PUBLIC_URL to the address it is reached by`
  }
  if (origin === undefined || isSameHost(origin, host) || guard.origins.includes(origin)) return undefined
  return `Forbidden: pages of the origin ${shown(origin)} may not call this service`
}

const isAddress = (name: string): boolean => isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0

const isSameHost = (origin: string, host: string | undefined): boolean =>
  host !== undefined && /^https?:\/\/(.+)$/.exec(origin.toLowerCase())?.[1] === host.toLowerCase()

const shown = (text: string | undefined): string =>
  text === undefined ? '(none)' : JSON.stringify(text.slice(0, 100))

/** A client that sends this is asked to sign in; others are served as anonymous. */
const ASKS_FOR_SIGN_IN = /[?&]auth=required(?:&|$)/

/**
 * Checks an access token, with which a program signs in, and the scope that the message requires. A key is checked
 * here only if the client asked to sign in.
 *
 * @throws RpcFault
 */
export async function checkBearer(
  { identify, oauth }: Pick<Accounts, 'identify' | 'oauth'>,
  { headers: { authorization }, url, id }: Pick<FastifyRequest, 'headers' | 'url' | 'id'>,
  message: JsonObject,
): Promise<void> {
  const isToken = bringsAccessToken(authorization)
  if (!isToken && !ASKS_FOR_SIGN_IN.test(url)) return
  // Tells a client to sign in (RFC 6750 §3), and where it reads how (RFC 9728).
  const challenge = (status: number, code: string, why: string, header: string): RpcFault => {
    const metadata = `resource_metadata="${oauth.issuer()}${RESOURCE_METADATA_PATH}/mcp"`
    const headers = { 'www-authenticate': `Bearer ${header}, ${metadata}` }
    return new RpcFault('transport', why, { status, data: { code, request_id: id }, headers })
  }
  if (authorization === undefined)
    throw challenge(
      401,
      'unauthorized',
      'Unauthorized: sign in by OAuth, or send an API key',
      'scope="calls"',
    )
  const identity = await identify(authorization)
  if (identity.outcome === 'INDETERMINATE') return
  if (identity.outcome !== 'OK') {
    const problem = isToken
      ? 'the access token has expired, was revoked, or is for another service'
      : 'what was sent is no key that applies'
    const header = `error="invalid_token", error_description="${problem}"`
    throw challenge(401, 'token_refused', `Unauthorized: ${problem}`, header)
  }
  const { method, params } = message
  if (method !== 'tools/call') return
  const scope = scopeOfTool(isJsonObject(params) ? params.name : undefined)
  if (identity.scopes?.includes(scope) !== false) return
  const problem = `the program was not let do this; it takes the scope ${scope}`
  const wanted = [...new Set([...identity.scopes, scope])].join(' ')
  const header = `error="insufficient_scope", scope="${wanted}", error_description="${problem}"`
  throw challenge(403, 'insufficient_scope', `Forbidden: ${problem}`, header)
}
