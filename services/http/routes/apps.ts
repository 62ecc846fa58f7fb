import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { isoTime } from '../../../contracts/iso-time.ts'
import { type AppRow, appsAnswerSchema, machineAnswerSchema, scopeSchema } from '../../../contracts/oauth.ts'
import type { Accounts, AppView } from '../../accounts/index.ts'
import { keyedRoutes, nothing } from '../keyed-routes.ts'
import { noBody, operationsOf } from '../openapi/operation.ts'
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
const paramsSchema = z.strictObject({
  id: z.uuid().toLowerCase().describe('The `id` of a row of `GET /api/apps`'),
})

const own = operationsOf({
  tag: 'account',
  key: 'required',
  errors: ['store_unavailable', 'token_elsewhere'],
})

/**
 * `/api/apps`: the programs that may act for the account of a key, and clients for its machines. With a key only: what
 * was let in lets in nobody else.
 */
export const appRoutes: FastifyPluginAsync<{ readonly accounts: Accounts }> = async (app, { accounts }) => {
  const on = keyedRoutes(app, accounts.identify)
  on(
    'GET /api/apps',
    own('apps', 'Programs that act for the account, and clients for machines', {
      errors: ['account_unknown'],
    }),
    { response: { 200: appsAnswerSchema } },
    async ({ accountId }) => ({ apps: (await accounts.oauth.apps(accountId)).map(toAppRow) }),
  )
  on(
    'POST /api/apps',
    own('createClient', 'Make a client for a machine, with a secret that is shown once or with public keys', {
      errors: ['too_many_apps', 'account_unknown'],
      bodyExample: { name: 'nightly run', scopes: ['calls'] },
    }),
    { body: createSchema, response: { 201: machineAnswerSchema } },
    async ({ accountId, origin }, asked) => {
      const made = await accounts.oauth.createMachine(accountId, asked, origin)
      return { ...toAppRow(made.app), client_secret: made.secret }
    },
  )
  on(
    'DELETE /api/apps/:id',
    own('endApp', 'Shut a program out, or remove a client', {
      errors: ['not_found', 'account_unknown'],
      answers: noBody('It acts no more'),
    }),
    { params: paramsSchema },
    async ({ accountId, origin }, { id }) => nothing(accounts.oauth.endApp(accountId, id, origin)),
  )
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
