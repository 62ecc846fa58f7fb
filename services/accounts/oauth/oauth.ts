import { createHash } from 'node:crypto'
import { OAuthError, type Scope } from '../../../contracts/domain/oauth.ts'
import { isServiceError } from '../../../contracts/errors/errors.ts'
import type { Origin } from '../../../contracts/infra/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { AccountDeps } from '../account-deps.ts'
import type { AccountLog } from '../account-log.ts'
import { hashOf } from '../credentials.ts'
import { createAppList, sealFor } from './app-list.ts'
import { type Asker, type Client, type ClientDocuments, readRegistration } from './client-documents.ts'
import type { AppCommand } from './decide-apps.ts'
import {
  type AuthorizationRequest,
  type Destination,
  one,
  type Parameters,
  readAuthorization,
  readDestination,
  readScopes,
  required,
  requireResource,
} from './read-authorization.ts'
import { withAnswer } from './redirects.ts'
import { audienceHash, type TokenOwner, type Tokens } from './tokens.ts'

/** The token response (RFC 6749 §5.1). */
export interface TokenAnswer {
  readonly access_token: string
  readonly token_type: 'Bearer'
  /** Seconds. */
  readonly expires_in: number
  readonly refresh_token?: string
  readonly scope: string
}

/** A request as it came to one of the endpoints of clients. */
export interface ClientRequest {
  readonly parameters: Parameters
  readonly authorization: string | undefined
}

/** The next step of a sign-in: ask the person, or send the browser back. */
export type Asked =
  | { readonly kind: 'ask'; readonly request: AuthorizationRequest }
  | { readonly kind: 'back'; readonly location: string }

export interface OAuthParts extends AccountDeps {
  readonly tokens: Tokens
  readonly documents: ClientDocuments
  /** The public address of the service. */
  readonly publicUrl: () => string
}

const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url')

export const issuerOf = (publicUrl: string): string => publicUrl.replace(/\/+$/, '')
export const resourceOf = (publicUrl: string): string => `${issuerOf(publicUrl)}/mcp`

export type OAuth = ReturnType<typeof createOAuth>

/**
 * OAuth 2.1 for programs that act for an account, over the account's own stream. Everything that is handed out is
 * recorded before it is; who comes second with a code or a refresh token shuts the program out.
 */
export function createOAuth(parts: OAuthParts) {
  const { log, documents, identifier, publicUrl, now } = parts
  const issuer = (): string => issuerOf(publicUrl())
  const resource = (): string => resourceOf(publicUrl())
  const answered = (
    { redirectUri, state }: Destination,
    answer: Readonly<Record<string, string | undefined>>,
  ): string => withAnswer(redirectUri, { ...answer, state, iss: issuer() })
  const list = createAppList(parts)

  return {
    /** The address of this server (RFC 8414), and the one that its tokens are for (RFC 9728). */
    issuer,
    resource,
    /**
     * @param asker for whom the document of a client is looked up
     * @throws OAuthError what is to be shown to the person, since it may be sent nowhere
     */
    async read(parameters: Parameters, asker: Asker): Promise<Asked> {
      const clientId = required(parameters, 'client_id')
      const client = registered(parts, clientId) ?? (await documents.find(clientId, asker))
      const destination = readDestination(parameters, client)
      try {
        return { kind: 'ask', request: readAuthorization(parameters, destination, resource()) }
      } catch (error) {
        if (!(error instanceof OAuthError)) throw error
        const location = answered(destination, { error: error.code, error_description: error.message })
        return { kind: 'back', location }
      }
    },
    /**
     * The owner says yes.
     *
     * @returns where the browser goes, with the code
     * @throws ServiceError `limit_reached`, `account_unknown`
     */
    async allow(accountId: string, request: AuthorizationRequest, origin: Origin) {
      const code = await authorize(parts, accountId, request, origin)
      documents.keep(request.client)
      return answered(request, { code })
    },
    /** The owner says no. */
    deny: (request: Destination) => answered(request, { error: 'access_denied' }),
    register: (body: unknown) => register(parts, body),
    /** @throws OAuthError; ServiceError of the store, `rate_limited` */
    async token(request: ClientRequest, origin: Origin) {
      requireResource(request.parameters, resource())
      const answer = await giveOf(request)(parts, request, origin)
      await identifier.settled()
      return answer
    },
    /** RFC 7009: ends the program of a valid token; any other token does nothing. @throws OAuthError */
    async revoke(request: ClientRequest, origin: Origin) {
      const text = required(request.parameters, 'token')
      const { tokens } = parts
      const refresh = tokens.openOwned('refresh', text)
      const access = tokens.openAccess(text)
      const isAccess = access !== undefined && access.expiresAt > now() && isFor(access.audience, publicUrl())
      const owner = refresh ?? (isAccess ? access : undefined)
      if (owner === undefined) return
      const { apps } = await log.load(owner.accountId)
      const grant = apps.find(({ grantId }) => grantId === owner.appId)
      if (
        grant === undefined ||
        (refresh !== undefined && (grant.refreshHash !== hashOf(text) || grant.expiresAt <= now()))
      )
        return
      const clientId = readClientId(request)
      if (clientId !== undefined && grant.clientHash !== parts.idOf('OAuth client', clientId)) {
        throw new OAuthError('invalid_client', 'The token is of another client.')
      }
      await list.end(owner.accountId, grant.grantId, 'it gave its token back', origin)
    },
    apps: (accountId: string) => list.apps(accountId),
    /** @throws ServiceError `not_found`, `account_unknown` */
    endApp: (accountId: string, id: string, origin: Origin) =>
      list.end(accountId, id, `ended by ${origin.actor}`, origin),
  }
}

/**
 * Registers a client (RFC 7591): its id is what it said of itself, sealed, so nothing is kept of strangers.
 *
 * @throws OAuthError `invalid_client_metadata`, `invalid_redirect_uri`
 */
function register({ tokens, now }: OAuthParts, body: unknown) {
  const { name, redirectUris } = readRegistration(body)
  const issuedAt = now()
  const clientId = tokens.client({ name, redirectUris }, issuedAt)
  const most = LIMITS.registeredClientCharacters
  if (clientId.length > most)
    throw new OAuthError(
      'invalid_client_metadata',
      `client_name and redirect_uris are too long together: the id would have ${clientId.length} characters, and may have ${most}`,
    )
  return {
    client_id: clientId,
    client_id_issued_at: Math.floor(issuedAt / 1_000),
    client_name: name,
    redirect_uris: redirectUris,
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  } as const
}

/** The client of a registration; undefined for an id of another kind. @throws OAuthError `invalid_client` for one that ended */
function registered({ tokens, now }: OAuthParts, clientId: string): Client | undefined {
  const { client, issuedAt } = tokens.openClient(clientId) ?? {}
  if (issuedAt === undefined || now() - issuedAt < LIMITS.refreshTokenMs) return client
  throw new OAuthError(
    'invalid_client',
    'the registration of the client ended after 30 days: it registers again at POST /oauth/register',
  )
}

/** Clients are public: they name themselves, and have nothing to prove it with. @throws OAuthError `invalid_client` */
function readClientId({ parameters, authorization }: ClientRequest): string | undefined {
  const proof = ['client_secret', 'client_assertion'].find((name) => parameters[name] !== undefined)
  if (proof === undefined && authorization === undefined) return one(parameters, 'client_id')
  throw new OAuthError('invalid_client', `clients send their client_id, and no ${proof ?? 'Authorization'}`)
}

async function authorize(
  parts: OAuthParts,
  accountId: string,
  { client, redirectUri, challenge, scopes }: AuthorizationRequest,
  origin: Origin,
): Promise<string> {
  const { log, tokens, idOf, newId, now } = parts
  const grantId = newId()
  const code = tokens.owned('code', { accountId, appId: grantId })
  const { host } = new URL(redirectUri)
  const about = JSON.stringify({ clientId: client.clientId, name: client.name, redirectHost: host })
  await log.execute(accountId, origin, async (state) => [
    {
      kind: 'AuthorizeApp',
      grantId,
      app: state.isOpen ? await sealFor(parts, accountId, state.generation, grantId, about, origin) : '-',
      clientHash: idOf('OAuth client', client.clientId),
      redirectHash: hashOf(redirectUri),
      codeHash: hashOf(code),
      challenge,
      scopes,
      now: now(),
    },
  ])
  return code
}

type Give = (parts: OAuthParts, request: ClientRequest, origin: Origin) => Promise<TokenAnswer>

const GRANTS: Readonly<Record<string, Give>> = {
  async authorization_code(parts, request, origin) {
    const { parameters } = request
    const code = required(parameters, 'code')
    const [verifier, redirectUri] = ['code_verifier', 'redirect_uri'].map((name) =>
      required(parameters, name),
    ) as [string, string]
    const owner = parts.tokens.openOwned('code', code)
    if (owner === undefined) throw new OAuthError('invalid_grant', 'This is no code of this service.')
    if (!/^[\w.~-]{43,128}$/.test(verifier)) {
      throw new OAuthError('invalid_grant', 'code_verifier must be 43 to 128 unreserved characters')
    }
    return giveToApp(parts, owner, request, origin, (grantId, clientHash, refreshHash) => ({
      kind: 'ExchangeCode',
      grantId,
      clientHash,
      refreshHash,
      codeHash: hashOf(code),
      redirectHash: hashOf(redirectUri),
      challenge: challengeOf(verifier),
      now: parts.now(),
    }))
  },
  async refresh_token(parts, request, origin) {
    const used = required(request.parameters, 'refresh_token')
    const owner = parts.tokens.openOwned('refresh', used)
    if (owner === undefined)
      throw new OAuthError('invalid_grant', 'This is no refresh token of this service.')
    return giveToApp(parts, owner, request, origin, (grantId, clientHash, refreshHash) => ({
      kind: 'RefreshApp',
      grantId,
      clientHash,
      refreshHash,
      usedHash: hashOf(used),
      now: parts.now(),
    }))
  },
}

/** @throws OAuthError `unsupported_grant_type` */
function giveOf({ parameters }: ClientRequest): Give {
  const name = required(parameters, 'grant_type')
  const give = Object.hasOwn(GRANTS, name) ? GRANTS[name] : undefined
  if (give !== undefined) return give
  throw new OAuthError('unsupported_grant_type', `grant_type must be of ${Object.keys(GRANTS).join(', ')}`)
}

/** The tokens of a program, in exchange for a code or a refresh token that works once. */
async function giveToApp(
  parts: OAuthParts,
  owner: TokenOwner,
  request: ClientRequest,
  origin: Origin,
  command: (grantId: string, clientHash: string, refreshHash: string) => AppCommand,
): Promise<TokenAnswer> {
  const { log, tokens, idOf } = parts
  const { accountId, appId } = owner
  const clientId = readClientId(request)
  if (clientId === undefined) throw new OAuthError('invalid_client', 'client_id is missing')
  const { apps } = await log.load(accountId)
  const grant = apps.find(({ grantId }) => grantId === appId)
  const scopes = narrowed(grant?.scopes ?? [], one(request.parameters, 'scope'))
  const refresh = tokens.owned('refresh', owner)
  const clientHash = idOf('OAuth client', clientId)
  await execute(log, accountId, origin, command(appId, clientHash, hashOf(refresh)))
  return { ...accessFor(parts, owner, scopes), refresh_token: refresh }
}

/** A refreshed token may be let do less than the one before. @throws OAuthError `invalid_scope` */
function narrowed(granted: readonly Scope[], asked: string | undefined): readonly Scope[] {
  if (asked === undefined) return granted
  const scopes = readScopes(asked)
  if (granted.length > 0 && scopes.some((scope) => !granted.includes(scope))) {
    throw new OAuthError('invalid_scope', `the program was let do no more than ${granted.join(' ')}`)
  }
  return scopes
}

function accessFor(
  { tokens, publicUrl, now }: OAuthParts,
  owner: TokenOwner,
  scopes: readonly Scope[],
): TokenAnswer {
  const expiresAt = now() + LIMITS.accessTokenMs
  return {
    access_token: tokens.access({ ...owner, expiresAt, audience: resourceOf(publicUrl()), scopes }),
    token_type: 'Bearer',
    expires_in: LIMITS.accessTokenMs / 1_000,
    scope: scopes.join(' '),
  }
}

async function execute(
  log: AccountLog,
  accountId: string,
  origin: Origin,
  command: AppCommand,
): Promise<void> {
  try {
    await log.execute(accountId, origin, () => [command])
  } catch (error) {
    if (!isServiceError(error, 'unauthorized')) throw error
    throw new OAuthError('invalid_grant', error.message, { cause: error })
  }
}

/** Whether an access token is for an address. */
export const isFor = (audience: string, publicUrl: string): boolean =>
  audience === audienceHash(resourceOf(publicUrl))
