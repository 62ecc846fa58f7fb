import { z } from 'zod'
import { OAuthError } from '../../../contracts/domain/oauth.ts'
import { isServiceError, reasonOf } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { createLine, PROCESS_TIME } from '../../runtime/admission/line.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
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
}

/** For whom a document is looked up. */
export interface Asker {
  /** Askers take turns. */
  readonly name: string
  /** Counts a look-up that memory does not answer. What it throws is thrown. */
  readonly admit: () => Promise<void>
}

export interface ClientDocumentsOptions {
  readonly fetchDocument: FetchDocument
  /** Unix milliseconds. */
  readonly now: () => number
}

const nameSchema = z
  .string()
  .trim()
  .min(1)
  .max(LIMITS.clientNameCharacters)
  .regex(/^[^\p{Cc}\p{Cs}\p{Cf}\u2028\u2029]*$/u, 'must be one line of text')

const documentSchema = z.object({
  client_id: z.string(),
  client_name: nameSchema,
  redirect_uris: z.array(z.string()).min(1).max(LIMITS.clientRedirects),
  token_endpoint_auth_method: z.literal('none').optional(),
  grant_types: z.array(z.string()).max(16).optional(),
  response_types: z.array(z.string()).max(16).optional(),
  client_secret: z.never({ error: 'must not be published' }).optional(),
})

const registrationSchema = documentSchema
  .omit({ client_id: true })
  .extend({ client_name: nameSchema.default('A program without a name') })

/** The fault of what a client says of itself beyond its shape, and the code of a registration that has it. */
function metadataFault({
  redirect_uris: uris,
  grant_types: grants,
}: Pick<z.output<typeof documentSchema>, 'redirect_uris' | 'grant_types'>) {
  const [fault] = uris.flatMap((uri) => redirectFault(uri) ?? [])
  if (fault !== undefined)
    return { code: 'invalid_redirect_uri', reason: `one of its redirect_uris ${fault}` } as const
  if (grants?.includes('authorization_code') !== false) return undefined
  return { code: 'invalid_client_metadata', reason: 'its grant_types lack authorization_code' } as const
}

/**
 * Reads what a client says of itself as it registers (RFC 7591); what is not known is ignored.
 *
 * @throws OAuthError `invalid_client_metadata`, `invalid_redirect_uri`
 */
export function readRegistration(body: unknown): Omit<Client, 'clientId'> {
  const read = registrationSchema.safeParse(body)
  if (!read.success) {
    const [issue] = read.error.issues
    const path = issue?.path.join('.') || 'the body'
    const code = path.startsWith('redirect_uris') ? 'invalid_redirect_uri' : 'invalid_client_metadata'
    throw new OAuthError(code, `${path}: ${issue?.message ?? 'is not valid'}`)
  }
  const { data } = read
  const fault = metadataFault(data)
  if (fault !== undefined) throw new OAuthError(fault.code, fault.reason)
  return { name: data.client_name, redirectUris: data.redirect_uris }
}

/**
 * The fault of a client's id; undefined for one that can be fetched.
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

/** The client of a document, or why the document could not be used; good for a while. */
interface Known {
  readonly client: Client | OAuthError
  readonly until: number
}

/** Remembers clients; those that act for somebody are kept apart. */
function createMemory(now: () => number) {
  const granted = new RecentMap<string, Known>(LIMITS.clientDocumentsKept)
  const others = new RecentMap<string, Known>(LIMITS.clientDocumentsKept)
  return {
    /** @throws OAuthError where the document could not be used a moment ago */
    find(clientId: string): Client | undefined {
      const known = granted.get(clientId) ?? others.get(clientId)
      if (known === undefined || now() >= known.until) return undefined
      if (known.client instanceof OAuthError) throw known.client
      return known.client
    },
    learn(clientId: string, client: Client | OAuthError, keepMs: number): void {
      const where = granted.has(clientId) ? granted : others
      where.set(clientId, { client, until: now() + keepMs })
    },
    keep({ clientId }: Client): void {
      const known = others.get(clientId) ?? granted.get(clientId)
      others.delete(clientId)
      if (known !== undefined) granted.set(clientId, known)
    },
  }
}

export type ClientDocuments = ReturnType<typeof createClientDocuments>

/**
 * Finds clients by their ids, which are the addresses of their documents.
 *
 * Fetches each document once and keeps it for as long as it says within limits; of one that cannot be used it remembers
 * that, for a while. A few are fetched at a time, for addresses in turn and a few of each host, so that documents that
 * never come hold up nobody but who asks for them.
 */
export function createClientDocuments({ fetchDocument, now }: ClientDocumentsOptions) {
  const memory = createMemory(now)
  const coming = new Map<string, Promise<Client>>()
  const line = createLine({
    places: LIMITS.clientDocumentsAtOnce,
    each: LIMITS.clientDocumentsWaitingPerAddress,
    waiting: LIMITS.clientDocumentsWaiting,
    full: (whose) => unavailable(whose === 'subject' ? 'for your address' : 'just now'),
    time: PROCESS_TIME,
  })

  async function load(clientId: string): Promise<Client> {
    try {
      const document = await fetchDocument(clientId, {
        bytes: LIMITS.clientDocumentBytes,
        timeMs: LIMITS.clientDocumentMs,
      }).catch((error: unknown) => {
        throw refused(isServiceError(error, 'url_refused') ? error.message : reasonOf(error), error)
      })
      const client = readDocument(clientId, document)
      const wanted = (document.maxAgeS ?? 0) * 1_000
      const keepMs = Math.min(Math.max(wanted, LIMITS.clientDocumentKeepLeastMs), LIMITS.clientDocumentKeepMs)
      memory.learn(clientId, client, keepMs)
      return client
    } catch (error) {
      if (error instanceof OAuthError) memory.learn(clientId, error, LIMITS.clientDocumentFailedMs)
      throw error
    }
  }

  function begin(clientId: string): Promise<Client> {
    const { host } = new URL(clientId)
    const ofHost = [...coming.keys()].filter((one) => new URL(one).host === host)
    if (ofHost.length >= LIMITS.clientDocumentsPerHost) throw unavailable('at this host')
    const loading = load(clientId).finally(() => coming.delete(clientId))
    coming.set(clientId, loading)
    return loading
  }

  return {
    /** @throws OAuthError `invalid_client`, `temporarily_unavailable`; what `admit` throws */
    async find(clientId: string, { name, admit }: Asker) {
      const fault = clientIdFault(clientId)
      if (fault !== undefined)
        throw new OAuthError(
          'invalid_client',
          `client_id ${fault}: it is the address of a document, or what POST /oauth/register of this service gave`,
        )
      const known = memory.find(clientId)
      if (known !== undefined) return known
      await admit()
      const under = coming.get(clientId)
      if (under !== undefined) return under
      const leave = await line.enter(name)
      try {
        return memory.find(clientId) ?? (await (coming.get(clientId) ?? begin(clientId)))
      } finally {
        leave()
      }
    },
    /** Keeps the document of a client that acts for somebody where those of strangers cannot push it out. */
    keep: (client: Client) => memory.keep(client),
  }
}

const unavailable = (where: string): OAuthError =>
  new OAuthError(
    'temporarily_unavailable',
    `As many clients are being looked up ${where} as may be at a time; try again in ${LIMITS.clientDocumentMs / 1_000} seconds.`,
  )

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
  const fault = metadataFault(data)
  if (fault !== undefined) throw refused(fault.reason)
  return { clientId, name: data.client_name, redirectUris: data.redirect_uris }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch (error) {
    throw refused('it cannot be read as JSON', error)
  }
}

const refused = (reason: string, cause?: unknown): OAuthError =>
  new OAuthError(
    'invalid_client',
    `The document of the client cannot be used: ${reason}. It is looked at again after ${LIMITS.clientDocumentFailedMs / 1_000} seconds.`,
    { cause },
  )
