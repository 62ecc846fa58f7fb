import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { LIMITS } from '../../../contracts/limits.ts'
import { rowsParameter } from '../../../contracts/parameters.ts'
import { ownPaymentsAnswerSchema } from '../../../contracts/payment-answers.ts'
import { type Identify, sentCredential } from '../../accounts/index.ts'
import type { PaymentAdmin } from '../../payments/index.ts'
import { requireKey } from '../../tool-calls/index.ts'
import { operationsOf } from '../openapi/operation.ts'
import { toPaymentAnswer } from '../payment-answers.ts'

export interface OwnPaymentRoutesOptions {
  readonly paymentAdmin: Pick<PaymentAdmin, 'listOwn'>
  /** Finds the account of a request by its credential. */
  readonly identify: Identify
}

const querySchema = z.strictObject({
  after: z.uuid().toLowerCase().optional().describe('Payments after this one: the `next` of an answer'),
  limit: rowsParameter(LIMITS.paymentRows, 50),
})

/**
 * `GET /api/payments`: what was paid for plans of the account of a key, and how each payment stands on the chain.
 * Calls that were paid for by themselves are of no account, and are shown to who holds their id.
 */
export const ownPaymentRoutes: FastifyPluginAsyncZod<OwnPaymentRoutesOptions> = async (app, options) => {
  const schema = {
    operation: operationsOf({ tag: 'account', key: 'required', errors: ['store_unavailable'] })(
      'ownPayments',
      'What was paid for plans of the account, and how each payment stands on the chain',
      {
        description:
          'Newest first. Calls that were paid for by themselves are of no account: they are shown at /x402/payments/{id}, to who holds the id.',
        errors: ['payments_unavailable'],
      },
    ),
    querystring: querySchema,
    response: { 200: ownPaymentsAnswerSchema },
  }
  app.get('/api/payments', { schema }, async ({ headers, query: { after, limit } }, reply) => {
    const { accountId } = requireKey(await options.identify(sentCredential(headers)))
    // One more than is shown tells whether there is a next page.
    const found = options.paymentAdmin.listOwn(accountId, { after, limit: limit + 1 })
    const payments = found.slice(0, limit)
    reply.header('cache-control', 'no-store')
    return {
      payments: payments.map(toPaymentAnswer),
      next: found.length > limit ? (payments.at(-1)?.paymentId ?? null) : null,
    }
  })
}
