import type { FastifyError, FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ERRORS, type ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { OAuthError, SCOPES } from '../../../contracts/oauth.ts'
import type { ClientRequest, OAuth } from '../../accounts/index.ts'
import { toServiceError } from '../errors.ts'
import { formOf } from '../form-bodies.ts'
import { anyObject, type Operation, operationsOf, revalidated } from '../openapi/operation.ts'
import { sendPublic } from '../send-public.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

const describe = operationsOf({ tag: 'account' })
const tokens = describe('token', 'Change a code or a refresh token into an access token (RFC 6749)', {
  description:
    'Parameters as a form. Refusals are `{error, error_description}` in the words of OAuth; see the page about OAuth.',
  answers: {
    200: {
      description: 'Tokens',
      content: {
        'application/json': z.object({
          access_token: z.string(),
          token_type: z.literal('Bearer'),
          expires_in: z.int(),
          refresh_token: z.string().optional(),
          scope: z.string(),
        }),
      },
    },
  },
})
const revocation = describe('revokeToken', 'Give a token back, which ends what it belongs to (RFC 7009)', {
  answers: { 200: { description: 'It holds no more', content: { 'application/json': z.object({}) } } },
})

const registration = describe(
  'registerClient',
  'Register a program that has no document of its own (RFC 7591)',
  {
    description:
      'A body of JSON: `redirect_uris`, and a `client_name`. Nothing of it is kept: the id holds it.',
    answers: { 201: { description: 'The client', content: { 'application/json': anyObject } } },
  },
)

/** Path at which a client finds its authorization server (RFC 9728 §3.1): alone, or before the path of the resource. */
export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource'

/**
 * OAuth for programs: what they find it by (RFC 9728, RFC 8414), where they change codes into tokens (RFC 6749), and
 * where they give them back (RFC 7009). Refusals are in OAuth's own words.
 */
export const oauthRoutes: FastifyPluginAsync<{ readonly oauth: OAuth }> = async (app, { oauth }) => {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: LIMITS.requestBodyBytes },
    (_request, body, done) => done(null, formOf(String(body))),
  )
  serveMetadata(app, oauth)
  await app.register(async (clients) => {
    clients.setErrorHandler((error: FastifyError, request, reply) =>
      refuse(request, notKept(reply), error instanceof OAuthError ? error : toServiceError(error, request)),
    )
    const originOf = ({ id }: FastifyRequest) => ({ correlationId: id, actor: 'OAuth client' })
    clients.post('/oauth/token', { schema: { operation: tokens } }, async (request, reply) =>
      notKept(reply).send(await oauth.token(clientRequest(request), originOf(request))),
    )
    clients.post('/oauth/register', { schema: { operation: registration } }, async ({ body }, reply) =>
      notKept(reply).code(201).send(oauth.register(body)),
    )
    clients.post('/oauth/revoke', { schema: { operation: revocation } }, async (request, reply) => {
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

/** HTTP statuses of refusals that are not the client's to mend by another request (RFC 6749 §5.2). */
const STATUSES: Readonly<Partial<Record<OAuthError['code'], number>>> = {
  invalid_client: 401,
  temporarily_unavailable: 503,
  server_error: 500,
}

function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  error: OAuthError | ServiceError,
): FastifyReply {
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
  const { retry_after_s: seconds } = error.details ?? {}
  if (status === 429) reply.header('retry-after', typeof seconds === 'number' ? seconds : 60)
  const asked = request.routeOptions.url === '/oauth/register' ? 'invalid_client_metadata' : 'invalid_request'
  const code = status === 429 || status === 503 ? 'temporarily_unavailable' : asked
  // RFC 6749 and 7591 know no other status for a request that cannot be read.
  reply.code(code === 'temporarily_unavailable' ? status : 400)
  return reply.send({ error: code, error_description: `${error.message} ${error.nextStep}` })
}

function serveMetadata(app: FastifyInstance, oauth: OAuth): void {
  const metadata = operationsOf({ tag: 'service' })
  const document = revalidated('The document', 'application/json', anyObject)
  const serve = (path: string, operation: Operation, make: () => object): void => {
    app.get(path, { schema: { operation } }, async (request, reply) =>
      sendPublic(request, reply, JSON_TYPE, JSON.stringify(make())),
    )
  }
  const ofRoot = metadata(
    'resourceMetadata',
    'Which server lets programs in to POST /mcp (RFC 9728)',
    document,
  )
  const ofMcp = metadata('mcpResourceMetadata', 'The same, where clients of MCP look for it', document)
  for (const [path, operation] of [
    [RESOURCE_METADATA_PATH, ofRoot],
    [`${RESOURCE_METADATA_PATH}/mcp`, ofMcp],
  ] as const) {
    serve(path, operation, () => ({
      resource: oauth.resource(),
      authorization_servers: [oauth.issuer()],
      scopes_supported: ['calls'],
      bearer_methods_supported: ['header'],
      resource_name: 'signal-service',
      resource_documentation: `${oauth.issuer()}/docs/mcp`,
      resource_policy_uri: `${oauth.issuer()}/docs/privacy`,
    }))
  }
  const ofServer = metadata('authorizationServerMetadata', 'How programs are let in (RFC 8414)', document)
  serve('/.well-known/oauth-authorization-server', ofServer, () => serverMetadata(oauth.issuer()))
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
