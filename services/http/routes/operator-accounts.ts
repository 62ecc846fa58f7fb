import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  accountAnswerSchema,
  accountsAnswerSchema,
  endedAnswerSchema,
  keysAnswerSchema,
  signInAnswerSchema,
} from '../../../contracts/account-answers.ts'
import { isServiceError } from '../../../contracts/errors.ts'
import { exactInstantParameter } from '../../../contracts/instant-parameter.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { rowsParameter } from '../../../contracts/parameters.ts'
import { tierSchema } from '../../../contracts/plans.ts'
import type { QuotaBlock } from '../../../contracts/service-block.ts'
import type { Accounts, AccountView, Payer } from '../../accounts/index.ts'
import { toAccountAnswer, toKeyRow, toSignInAnswer } from '../account-answers.ts'
import { operatorOrigin, useOperatorOnly } from '../operator.ts'
import { labelSchema } from './accounts.ts'

export interface OperatorAccountRoutesOptions {
  readonly accounts: Accounts
  readonly quotaOf: (payer: Payer) => Promise<QuotaBlock>
}

const accountId = z.uuid().toLowerCase()
const idParams = z.strictObject({ id: accountId })

const createKeySchema = z.strictObject({
  email: z.string().max(LIMITS.emailCharacters).optional(),
  account_id: accountId.optional(),
  tier: tierSchema.optional(),
  label: labelSchema.default('operator'),
})

const listSchema = z.strictObject({
  after: accountId.optional(),
  limit: rowsParameter(LIMITS.accountRows),
})

/**
 * Accounts and keys for the operator, under `/operator`: by the owner's socket or with the operator's token.
 */
export const operatorAccountRoutes: FastifyPluginAsyncZod<
  OperatorAccountRoutesOptions & { readonly operatorToken: string | undefined }
> = async (app, options) => {
  const { accounts } = options
  useOperatorOnly(app, options.operatorToken)
  const answerFor = async (id: string) => {
    const view = await accounts.show(id)
    return toAccountAnswer(view, await options.quotaOf(view.payer))
  }

  const createKey = { body: createKeySchema, response: { 201: signInAnswerSchema } }
  app.post('/operator/keys', { schema: createKey }, async (request, reply) => {
    const { email, account_id: known, tier, label } = request.body
    const choice = { email, accountId: known }
    const issued = await accounts.createKey(choice, { label, tier }, operatorOrigin(request))
    return reply.code(201).send(toSignInAnswer(issued))
  })

  const listKeys = {
    querystring: z.strictObject({ account_id: accountId }),
    response: { 200: keysAnswerSchema },
  }
  app.get('/operator/keys', { schema: listKeys }, async ({ query }) => {
    const { keys } = await accounts.show(query.account_id)
    return { keys: keys.map(toKeyRow), next: null }
  })

  app.delete('/operator/keys/:id', { schema: { params: idParams } }, async (request, reply) => {
    const { id } = request.params
    await accounts.revokeKey(await accounts.accountOfKey(id), id, operatorOrigin(request))
    return reply.code(204).send()
  })

  const endBefore = {
    body: z.strictObject({ issued_before: exactInstantParameter, after: accountId.optional() }),
    response: { 200: endedAnswerSchema },
  }
  app.post('/operator/keys/revoke', { schema: endBefore }, async (request) => {
    const { issued_before, after } = request.body
    const ended = await accounts.endBefore(Date.parse(issued_before), after, operatorOrigin(request))
    return { ...ended, next: ended.next ?? null }
  })

  const list = { querystring: listSchema, response: { 200: accountsAnswerSchema } }
  app.get('/operator/accounts', { schema: list }, async ({ query }) => {
    const { after, limit } = query
    const ids = await accounts.list({ after, limit })
    const rows = (await Promise.all(ids.map((id) => showIfThere(accounts, id)))).filter(
      (row) => row !== undefined,
    )
    return {
      accounts: rows.map((row) => ({
        account_id: row.accountId,
        email: row.email,
        tier: row.tier,
        opened_at: isoTime(row.openedAt),
        keys: row.keys.length,
      })),
      next: ids.length < limit ? null : (ids.at(-1) ?? null),
    }
  })

  const show = { params: idParams, response: { 200: accountAnswerSchema } }
  app.get('/operator/accounts/:id', { schema: show }, async ({ params }) => answerFor(params.id))

  const grant = { ...show, body: z.strictObject({ tier: tierSchema }) }
  app.post('/operator/accounts/:id/grant', { schema: grant }, async (request) => {
    const { body, params } = request
    await accounts.startPlan(params.id, { tier: body.tier, source: 'operator' }, operatorOrigin(request))
    return answerFor(params.id)
  })

  app.delete('/operator/accounts/:id', { schema: { params: idParams } }, async (request, reply) => {
    await accounts.erase(request.params.id, operatorOrigin(request))
    return reply.code(204).send()
  })
}

/** Undefined for an account that was erased since it was listed. */
async function showIfThere(accounts: Accounts, id: string): Promise<AccountView | undefined> {
  try {
    return await accounts.show(id)
  } catch (error) {
    if (isServiceError(error, 'account_unknown')) return undefined
    throw error
  }
}
