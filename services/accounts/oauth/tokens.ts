import { createHash } from 'node:crypto'
import type { Scope } from '../../../contracts/domain/oauth.ts'
import { isServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { seal, unseal } from '../../runtime/secrets/seal.ts'
import type { Client } from './client-documents.ts'

/** The prefix of each kind of token, for people and secret scanners. */
const PREFIXES = { access: 'sat_', refresh: 'srt_', code: 'sac_', client: 'src_', session: 'ses_' } as const
type Kind = keyof typeof PREFIXES

/** Longest text that is read; the longest token that is made is shorter. */
const MOST_CHARACTERS = {
  access: 512,
  refresh: 512,
  code: 512,
  client: LIMITS.registeredClientCharacters,
  session: 512,
} as const
const SHAPE = /^[\w-]+$/
const VERSION = 'v1.'

/** The owner of a token: the account, and the program. */
export interface TokenOwner {
  readonly accountId: string
  readonly appId: string
}

/** The claims of an access token, which only this service can read. */
export interface AccessClaims extends TokenOwner {
  /** Unix milliseconds. */
  readonly expiresAt: number
  /** The address that it is for. */
  readonly audience: string
  readonly scopes: readonly Scope[]
}

/** The claims of a browser session, which lie sealed in its cookie. */
export interface SessionClaims {
  readonly sessionId: string
  readonly accountId: string
  /** The account's at the sign-in: an erasure ends all sessions. */
  readonly generation: number
  /** Unix milliseconds. */
  readonly begunAt: number
}

export type Tokens = ReturnType<typeof createTokens>

/**
 * Makes and opens what OAuth and a sign-in hand out. All of it is sealed: it names its account to this service and to nobody else,
 * and what was forged is known as such without a look at the log.
 *
 * @param key 32 bytes, the same in every process of the service
 */
export function createTokens(key: Uint8Array, random: (bytes: number) => Uint8Array) {
  const sealed = (kind: Kind, said: readonly unknown[]): string =>
    PREFIXES[kind] +
    seal(Buffer.from(JSON.stringify(said)), { key, context: `OAuth ${kind}` }, random).slice(VERSION.length)

  function open(kind: Kind, text: string): unknown[] | undefined {
    const prefix = PREFIXES[kind]
    const body = text.slice(prefix.length)
    if (!text.startsWith(prefix) || text.length > MOST_CHARACTERS[kind] || !SHAPE.test(body)) return undefined
    // Base64 has spare bits at its end: only the one spelling that was handed out is taken.
    if (Buffer.from(body, 'base64url').toString('base64url') !== body) return undefined
    try {
      const bytes = unseal(VERSION + body, { key, context: `OAuth ${kind}` })
      return JSON.parse(Buffer.from(bytes).toString()) as unknown[]
    } catch (error) {
      // Forged, damaged, or of another service.
      if (isServiceError(error, 'internal_error')) return undefined
      throw error
    }
  }

  return {
    access: ({ accountId, appId, expiresAt, audience, scopes }: AccessClaims) =>
      sealed('access', [accountId, appId, expiresAt, audienceHash(audience), scopes]),
    openAccess(text: string) {
      const said = open('access', text)
      if (said === undefined) return undefined
      const [accountId, appId, expiresAt, audience, scopes] = said as [
        string,
        string,
        number,
        string,
        Scope[],
      ]
      return { accountId, appId, expiresAt, audience, scopes }
    },
    /** The id of a client that registered itself: all that is known of it. */
    client: ({ name, redirectUris }: Omit<Client, 'clientId'>, issuedAt: number) =>
      sealed('client', [name, redirectUris, issuedAt]),
    /** Undefined for an id that is no registration of this service. */
    openClient(clientId: string): { readonly client: Client; readonly issuedAt: number } | undefined {
      const said = open('client', clientId)
      if (said === undefined) return undefined
      const [name, redirectUris, issuedAt] = said as [string, readonly string[], number]
      return { client: { clientId, name, redirectUris }, issuedAt }
    },
    session: ({ sessionId, accountId, generation, begunAt }: SessionClaims) =>
      sealed('session', [sessionId, accountId, generation, begunAt]),
    openSession(text: string): SessionClaims | undefined {
      const said = open('session', text)
      if (said === undefined) return undefined
      const [sessionId, accountId, generation, begunAt] = said as [string, string, number, number]
      return { sessionId, accountId, generation, begunAt }
    },
    /** A code, or a refresh token. */
    owned: (kind: 'code' | 'refresh', { accountId, appId }: TokenOwner) => sealed(kind, [accountId, appId]),
    openOwned(kind: 'code' | 'refresh', text: string) {
      const said = open(kind, text)
      if (said === undefined) return undefined
      const [accountId, appId] = said as [string, string]
      return { accountId, appId }
    },
  }
}

/** The part of an audience that a token contains. */
export const audienceHash = (address: string): string =>
  createHash('sha256').update(address).digest('base64url').slice(0, 16)
