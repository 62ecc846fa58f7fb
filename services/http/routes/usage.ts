import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { type UsageAnswer, usageAnswerSchema } from '../../../contracts/answers/account.ts'
import { keyCursor, keyCursorParameter, rowsParameter } from '../../../contracts/answers/parameters.ts'
import { ownPaymentsAnswerSchema } from '../../../contracts/answers/payment.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type Identify, sentCredential } from '../../accounts/index.ts'
import type { PaymentAdmin } from '../../payments/index.ts'
import { keyedRoutes, routesFor } from '../add-routes.ts'
import { KEY, operation } from '../openapi.ts'
import { toPaymentAnswer } from './payment-status.ts'

export interface UsageRoutesOptions {
  /**
   * The calls that the account of a key has used.
   *
   * @throws ServiceError `unauthorized`, `key_unknown`, `key_unverifiable`, `store_unavailable`
   */
  readonly usage: (
    authorization: string | undefined,
    query: { readonly after?: string | undefined; readonly limit: number },
  ) => Promise<UsageAnswer>
}

/** `GET /api/usage`: the calls of the account of a key: what is left, by day, and one by one. */
export const usageRoutes: FastifyPluginAsync<UsageRoutesOptions> = async (app, { usage }) => {
  const on = routesFor(app, ({ headers }) => sentCredential(headers), { security: KEY })
  on(
    'GET /api/usage',
    operation('account', 'usage', 'The calls left, and the ledger of those that were made'),
    {
      cache: 'no-store',
      querystring: z.strictObject({ after: keyCursorParameter, limit: rowsParameter(LIMITS.usageRows, 50) }),
      response: { 200: usageAnswerSchema },
    },
    async (credential, query) => {
      const answer = await usage(credential, query)
      return { ...answer, next: keyCursor(answer.next) }
    },
  )
}

export interface OwnPaymentRoutesOptions {
  readonly paymentAdmin: Pick<PaymentAdmin, 'listOwn'>
  /** Finds the account of a request by its credential. */
  readonly identify: Identify
}

/** `GET /api/payments`: the payments for plans of the account of a key. Paid calls belong to no account. */
export const ownPaymentRoutes: FastifyPluginAsync<OwnPaymentRoutesOptions> = async (app, options) => {
  keyedRoutes(app, options.identify)(
    'GET /api/payments',
    operation('account', 'ownPayments', 'Payments for plans of the account, and their settlement', {
      description:
        'Newest first. Paid calls belong to no account: `GET /x402/payments/{id}` shows one to the holder of its id.',
    }),
    {
      querystring: z.strictObject({
        after: z
          .uuid()
          .toLowerCase()
          .optional()
          .describe('Further payments: the `next` of the answer before'),
        limit: rowsParameter(LIMITS.paymentRows, 50),
      }),
      response: { 200: ownPaymentsAnswerSchema },
    },
    async ({ accountId }, { after, limit }) => {
      // One more than is shown tells whether there is a next page.
      const found = options.paymentAdmin.listOwn(accountId, { after, limit: limit + 1 })
      const payments = found.slice(0, limit)
      const next = found.length > limit ? (payments.at(-1)?.paymentId ?? null) : null
      return { payments: payments.map(toPaymentAnswer), next }
    },
  )
}
