import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { isoTime } from '../../../contracts/iso-time.ts'
import { type AppRow, appsAnswerSchema, machineAnswerSchema, scopeSchema } from '../../../contracts/oauth.ts'
import type { Accounts, AppView } from '../../accounts/index.ts'
import { callerAs } from '../../tool-calls/index.ts'
import { labelSchema } from './accounts.ts'

const createSchema = z.strictObject({
  name: labelSchema.default('').describe('What to call the client'),
  scopes: z.array(scopeSchema).min(1).max(8).default(['calls']).describe('What it may be let do'),
  jwks: z
    .looseObject({
      keys: z
        .array(z.looseObject({ kty: z.string() }))
        .min(1)
        .max(8),
    })
    .optional()
    .describe('Public keys as a JWK set; without them the client has a secret'),
})
const paramsSchema = z.strictObject({ id: z.uuid().toLowerCase() })

/**
 * `/api/apps`: the programs that may act for the account of a key, and clients for its machines. With a key only: what
 * was let in lets in nobody else.
 */
export const appRoutes: FastifyPluginAsyncZod<{ readonly accounts: Accounts }> = async (
  app,
  { accounts },
) => {
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
  })
  const callerOf = async ({ headers, id }: FastifyRequest) =>
    callerAs(await accounts.identify(headers.authorization), id)

  app.get('/api/apps', { schema: { response: { 200: appsAnswerSchema } } }, async (request) => {
    const { accountId } = await callerOf(request)
    return { apps: (await accounts.oauth.apps(accountId)).map(toAppRow) }
  })

  const create = { body: createSchema, response: { 201: machineAnswerSchema } }
  app.post('/api/apps', { schema: create }, async (request, reply) => {
    const { accountId, origin } = await callerOf(request)
    const made = await accounts.oauth.createMachine(accountId, request.body, origin)
    return reply.code(201).send({ ...toAppRow(made.app), client_secret: made.secret })
  })

  app.delete('/api/apps/:id', { schema: { params: paramsSchema } }, async (request, reply) => {
    const { accountId, origin } = await callerOf(request)
    await accounts.oauth.endApp(accountId, request.params.id, origin)
    return reply.code(204).send()
  })
}

const toAppRow = (view: AppView): AppRow => ({
  id: view.id,
  kind: view.kind,
  name: view.name,
  client_id: view.clientId,
  redirect_host: view.redirectHost ?? null,
  scopes: [...view.scopes],
  created_at: isoTime(view.createdAt),
  expires_at: view.expiresAt === undefined ? null : isoTime(view.expiresAt),
})
