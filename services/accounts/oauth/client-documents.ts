import { z } from 'zod'
import { isServiceError, reasonOf } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { CLIENT_METHODS, type ClientMethod, OAuthError } from '../../../contracts/oauth.ts'
import { redirectFault } from './redirects.ts'

/** One document as it came from elsewhere; never followed, never larger than was asked for. */
export interface FetchedDocument {
  readonly status: number
  readonly contentType: string
  /** Seconds that it may be kept, as its headers say; undefined where they say nothing. */
  readonly maxAgeS: number | undefined
  readonly body: string
}

/**
 * Fetches from public addresses and from no other, without following redirects.
 *
 * @throws ServiceError `url_refused`; an `Error` where it did not come whole, in time and within the size
 */
export type FetchDocument = (
  url: string,
  limits: { readonly bytes: number; readonly timeMs: number },
) => Promise<FetchedDocument>

/** A client as it describes itself. */
export interface Client {
  readonly clientId: string
  readonly name: string
  readonly redirectUris: readonly string[]
  readonly method: ClientMethod
  /** Public keys (RFC 7517); undefined for a client without. */
  readonly jwks: { readonly keys: readonly Readonly<Record<string, unknown>>[] } | undefined
}

/** Finds clients by their ids, which are the addresses of their documents. */
export interface ClientDocuments {
  /**
   * @param admit asked before anything is fetched; what it throws is thrown
   * @throws OAuthError `invalid_client`, `temporarily_unavailable`
   */
  find(clientId: string, admit: () => Promise<void>): Promise<Client>
}

export interface ClientDocumentsOptions {
  readonly fetchDocument: FetchDocument
  /** Unix milliseconds. */
  readonly now: () => number
}

const jwksSchema = z.object({ keys: z.array(z.record(z.string(), z.unknown())).min(1).max(8) })

const documentSchema = z.object({
  client_id: z.string(),
  client_name: z
    .string()
    .trim()
    .min(1)
    .max(LIMITS.clientNameCharacters)
    .regex(/^[^\p{Cc}\p{Cs}\p{Cf}\u2028\u2029]*$/u, 'must be one line of text'),
  redirect_uris: z.array(z.string()).min(1).max(LIMITS.clientRedirects),
  token_endpoint_auth_method: z.enum(CLIENT_METHODS).default('none'),
  grant_types: z.array(z.string()).max(16).optional(),
  response_types: z.array(z.string()).max(16).optional(),
  jwks: jwksSchema.optional(),
  client_secret: z.never({ error: 'must not be published' }).optional(),
})

/** Public keys as a client gives them; a private one among them is refused, for it is none any more. */
export function publicKeysOf(jwks: unknown): NonNullable<Client['jwks']> | undefined {
  const read = jwksSchema.safeParse(jwks)
  if (!read.success) return undefined
  return read.data.keys.some((key) => 'd' in key || 'k' in key) ? undefined : read.data
}

/**
 * What is wrong with the id of a client; undefined for one that can be fetched.
 *
 * @example clientIdFault('https://app.example/client.json') === undefined
 */
export function clientIdFault(clientId: string): string | undefined {
  const fault = redirectFault(clientId)
  if (fault !== undefined) return fault
  const url = new URL(clientId)
  if (url.protocol !== 'https:') return 'is not https'
  if (url.pathname === '/') return 'has no path'
  // Dots that are folded, and names that are spelt in two ways, would be two clients to some and one to others.
  if (url.href !== clientId) return 'is not in its plain form'
  return undefined
}

/**
 * Fetches each document once, keeps it for as long as it says within limits, and remembers no failure: what is wrong
 * with one is often mended in a moment.
 */
export function createClientDocuments({ fetchDocument, now }: ClientDocumentsOptions): ClientDocuments {
  const kept = new Map<string, { readonly client: Client; readonly until: number }>()
  const coming = new Map<string, Promise<Client>>()

  async function load(clientId: string): Promise<Client> {
    const document = await fetchDocument(clientId, {
      bytes: LIMITS.clientDocumentBytes,
      timeMs: LIMITS.clientDocumentMs,
    }).catch((error: unknown) => {
      throw refused(isServiceError(error, 'url_refused') ? error.message : reasonOf(error), error)
    })
    const client = readDocument(clientId, document)
    const wanted = (document.maxAgeS ?? 0) * 1_000
    const keepMs = Math.min(Math.max(wanted, LIMITS.clientDocumentKeepLeastMs), LIMITS.clientDocumentKeepMs)
    kept.delete(clientId)
    kept.set(clientId, { client, until: now() + keepMs })
    const [oldest] = kept.keys()
    if (kept.size > LIMITS.clientDocumentsKept && oldest !== undefined) kept.delete(oldest)
    return client
  }

  return {
    async find(clientId, admit) {
      const fault = clientIdFault(clientId)
      if (fault !== undefined) throw new OAuthError('invalid_client', `client_id ${fault}`)
      const known = kept.get(clientId)
      if (known !== undefined && now() < known.until) return known.client
      const under = coming.get(clientId)
      if (under !== undefined) return under
      await admit()
      if (coming.size >= LIMITS.clientDocumentsAtOnce) {
        throw new OAuthError(
          'temporarily_unavailable',
          'Many clients are being looked up; try again shortly.',
        )
      }
      const loading = (coming.get(clientId) ?? load(clientId)).finally(() => coming.delete(clientId))
      coming.set(clientId, loading)
      return loading
    },
  }
}

function readDocument(clientId: string, { status, contentType, body }: FetchedDocument): Client {
  if (status !== 200) throw refused(`it is answered with ${status}; redirects are not followed`)
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(contentType))
    throw refused('it is not JSON by its type')
  const read = documentSchema.safeParse(parsed(body))
  if (!read.success) {
    const [issue] = read.error.issues
    throw refused(`${issue?.path.join('.') || 'it'}: ${issue?.message ?? 'is not valid'}`)
  }
  const { data } = read
  if (data.client_id !== clientId) throw refused('the client_id in it is another than its address')
  for (const uri of data.redirect_uris) {
    const fault = redirectFault(uri)
    if (fault !== undefined) throw refused(`one of its redirect_uris ${fault}`)
  }
  if (data.grant_types !== undefined && !data.grant_types.includes('authorization_code')) {
    throw refused('its grant_types lack authorization_code')
  }
  const jwks = data.jwks === undefined ? undefined : publicKeysOf(data.jwks)
  const method = data.token_endpoint_auth_method
  if (method === 'private_key_jwt' && jwks === undefined) {
    throw refused('private_key_jwt takes jwks with public keys in the document itself')
  }
  return { clientId, name: data.client_name, redirectUris: data.redirect_uris, method, jwks }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch (error) {
    throw refused('it cannot be read as JSON', error)
  }
}

const refused = (reason: string, cause?: unknown): OAuthError =>
  new OAuthError('invalid_client', `The document of the client cannot be used: ${reason}`, { cause })
