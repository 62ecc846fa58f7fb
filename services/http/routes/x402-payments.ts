import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { type PaymentAnswer, paymentAnswerSchema } from '../../../contracts/payment-answers.ts'
import type { Payment } from '../../payments/index.ts'
import { operationsOf } from '../openapi/operation.ts'
import { toPaymentAnswer } from '../payment-answers.ts'
import { answerPaidFailure, answerPreflight, PAID_CORS_HEADERS } from './x402.ts'

export interface PaymentRoutesOptions {
  /** @throws ServiceError `payment_unknown`, and those of the store */
  readonly showPayment: (paymentId: string) => Promise<Payment>
}

const PATH = '/x402/payments/:id'

/**
 * `GET /x402/payments/:id`: the state of a payment. Open to every holder of its id, which cannot be guessed and
 * stands in the answer that was paid for; neither that answer nor the signature is shown.
 */
export const paymentRoutes: FastifyPluginAsyncZod<PaymentRoutesOptions> = async (app, options) => {
  app.setErrorHandler(answerPaidFailure)
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers(PAID_CORS_HEADERS)
  })
  const schema = {
    operation: operationsOf({ tag: 'payments' })('payment', 'What became of a payment', {
      description: 'Open to every holder of the id, which stands in the answer that was paid for.',
      errors: ['payment_unknown', 'store_unavailable'],
    }),
    params: z.strictObject({
      id: z.uuid().toLowerCase().describe('The id of the payment: `_service.payment.id`'),
    }),
    response: { 200: paymentAnswerSchema },
  }
  app.get(PATH, { schema }, ({ params }) => paymentAnswerOf(options, params.id))
  answerPreflight(app, PATH)
}

/** A payment as the holder of its id sees it, over HTTP and MCP. @throws ServiceError `payment_unknown` */
export async function paymentAnswerOf(
  { showPayment }: PaymentRoutesOptions,
  id: string,
): Promise<PaymentAnswer> {
  return toPaymentAnswer(await showPayment(id))
}
