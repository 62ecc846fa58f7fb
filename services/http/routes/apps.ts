import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { isoTime } from '../../../contracts/iso-time.ts'
import { type AppRow, appsAnswerSchema } from '../../../contracts/oauth.ts'
import type { Accounts, AppView } from '../../accounts/index.ts'
import { keyedRoutes, nothing } from '../keyed-routes.ts'
import { noBody, operationsOf } from '../openapi/operation.ts'

const paramsSchema = z.strictObject({
  id: z.uuid().toLowerCase().describe('The `id` of a row of `GET /api/apps`'),
})

const own = operationsOf({
  tag: 'account',
  key: 'required',
  errors: ['store_unavailable', 'token_elsewhere'],
})

/** `/api/apps`: the programs that may act for the account of a key. With a key only. */
export const appRoutes: FastifyPluginAsync<{ readonly accounts: Accounts }> = async (app, { accounts }) => {
  const on = keyedRoutes(app, accounts.identify)
  on(
    'GET /api/apps',
    own('apps', 'Programs that act for the account', { errors: ['account_unknown'] }),
    { response: { 200: appsAnswerSchema } },
    async ({ accountId }) => ({ apps: (await accounts.oauth.apps(accountId)).map(toAppRow) }),
  )
  on(
    'DELETE /api/apps/:id',
    own('endApp', 'Shut a program out', {
      errors: ['not_found', 'account_unknown'],
      answers: noBody('It acts no more'),
    }),
    { params: paramsSchema },
    async ({ accountId, origin }, { id }) => nothing(accounts.oauth.endApp(accountId, id, origin)),
  )
}

const toAppRow = (view: AppView): AppRow => ({
  id: view.id,
  name: view.name,
  client_id: view.clientId,
  redirect_host: view.redirectHost,
  scopes: [...view.scopes],
  created_at: isoTime(view.createdAt),
  expires_at: isoTime(view.expiresAt),
})
