import formbody from '@fastify/formbody'
import type { FastifyError, FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { OAuthError, SCOPES } from '../../../contracts/domain/oauth.ts'
import { ERRORS, type ServiceError } from '../../../contracts/errors/errors.ts'
import type { ClientRequest, OAuth } from '../../accounts/index.ts'
import { retryLater, toServiceError } from '../errors.ts'
import { anyObject, operation, serveDocument } from '../openapi.ts'

const refusal = z.object({ error: z.string(), error_description: z.string() }).describe('A refusal of OAuth')
const described = (id: string, summary: string, answer: z.ZodType, status = 200) => ({
  ...operation('account', id, summary),
  response: { [status]: answer, '4xx': refusal },
})
const issued = z.object({
  access_token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.int(),
  refresh_token: z.string().optional(),
  scope: z.string(),
})
const tokens = described('token', 'Exchange a code or a refresh token, sent as a form (RFC 6749)', issued)
const revocation = described('revokeToken', 'Revoke a token and its access (RFC 7009)', z.object({}))
const register = described(
  'registerClient',
  'Register a client, whose id holds it (RFC 7591)',
  anyObject,
  201,
)

/** Path at which a client finds its authorization server (RFC 9728 §3.1): alone, or before the path of the resource. */
export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource'

/**
 * OAuth for programs: what they find it by (RFC 9728, RFC 8414), where they change codes into tokens (RFC 6749), and
 * where they give them back (RFC 7009). Refusals are in OAuth's own words.
 */
export const oauthRoutes: FastifyPluginAsync<{ readonly oauth: OAuth }> = async (app, { oauth }) => {
  await app.register(formbody)
  serveMetadata(app, oauth)
  await app.register(async (clients) => {
    clients.setErrorHandler((error: FastifyError, request, reply) =>
      refuse(request, notKept(reply), error instanceof OAuthError ? error : toServiceError(error, request)),
    )
    const originOf = ({ id }: FastifyRequest) => ({ correlationId: id, actor: 'OAuth client' })
    clients.post('/oauth/token', { schema: tokens }, async (request, reply) =>
      notKept(reply).send(await oauth.token(clientRequest(request), originOf(request))),
    )
    clients.post('/oauth/register', { schema: register }, async ({ body }, reply) =>
      notKept(reply).code(201).send(oauth.register(body)),
    )
    clients.post('/oauth/revoke', { schema: revocation }, async (request, reply) => {
      await oauth.revoke(clientRequest(request), originOf(request))
      return notKept(reply).send({})
    })
  })
}

const notKept = (reply: FastifyReply): FastifyReply =>
  reply.header('cache-control', 'no-store').header('pragma', 'no-cache')

/** A request of a client with its parameters, which come as a form (RFC 6749 §3.2). */
function clientRequest(request: FastifyRequest): ClientRequest {
  if (!/^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? '')) {
    throw new OAuthError('invalid_request', 'parameters are sent as application/x-www-form-urlencoded')
  }
  return {
    parameters: request.body as ClientRequest['parameters'],
    authorization: request.headers.authorization,
  }
}

/** Statuses of refusals that another request of the client does not mend (RFC 6749 §5.2). */
const STATUSES: Readonly<Partial<Record<OAuthError['code'], number>>> = {
  invalid_client: 401,
  temporarily_unavailable: 503,
  server_error: 500,
}

function refuse(request: FastifyRequest, reply: FastifyReply, error: OAuthError | ServiceError) {
  if (error instanceof OAuthError) {
    const status = STATUSES[error.code] ?? 400
    if (status === 401 && request.headers.authorization !== undefined) {
      reply.header('www-authenticate', 'Basic realm="signal-service"')
    }
    return reply.code(status).send({ error: error.code, error_description: error.message })
  }
  // Other refusals are translated into the codes of OAuth as far as there are any.
  const { status } = ERRORS[error.code]
  if (status === 500) throw error
  retryLater(reply, error)
  const asked = request.routeOptions.url === '/oauth/register' ? 'invalid_client_metadata' : 'invalid_request'
  const code = status === 429 || status === 503 ? 'temporarily_unavailable' : asked
  // RFC 6749 and 7591 know no other status for a request that cannot be read.
  reply.code(code === 'temporarily_unavailable' ? status : 400)
  return reply.send({ error: code, error_description: `${error.message} ${error.nextStep}` })
}

function serveMetadata(app: FastifyInstance, oauth: OAuth): void {
  const serve = (path: string, id: string, summary: string, make: () => object): void =>
    serveDocument(app, path, operation('service', id, summary), () => JSON.stringify(make()))
  const resource = () => ({
    resource: oauth.resource(),
    authorization_servers: [oauth.issuer()],
    scopes_supported: ['calls'],
    bearer_methods_supported: ['header'],
    resource_name: 'signal-service',
    resource_documentation: `${oauth.issuer()}/docs/mcp`,
    resource_policy_uri: `${oauth.issuer()}/docs/privacy`,
  })
  const summary = 'The authorization server of POST /mcp (RFC 9728)'
  serve(RESOURCE_METADATA_PATH, 'resourceMetadata', summary, resource)
  serve(`${RESOURCE_METADATA_PATH}/mcp`, 'mcpResourceMetadata', summary, resource)
  serve(
    '/.well-known/oauth-authorization-server',
    'authorizationServerMetadata',
    'Endpoints and abilities of the authorization server (RFC 8414)',
    () => serverMetadata(oauth.issuer()),
  )
}

const serverMetadata = (issuer: string): object => ({
  issuer,
  authorization_endpoint: `${issuer}/oauth/authorize`,
  token_endpoint: `${issuer}/oauth/token`,
  revocation_endpoint: `${issuer}/oauth/revoke`,
  registration_endpoint: `${issuer}/oauth/register`,
  scopes_supported: SCOPES,
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  token_endpoint_auth_methods_supported: ['none'],
  revocation_endpoint_auth_methods_supported: ['none'],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
  client_id_metadata_document_supported: true,
  service_documentation: `${issuer}/docs/oauth`,
})
