import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { formatUsdc } from '../../../contracts/chain.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { type PaymentAnswer, paymentAnswerSchema } from '../../../contracts/payment-answers.ts'
import type { Payment } from '../../payments/index.ts'
import { anyObject, operationsOf, revalidated } from '../openapi/operation.ts'
import { toPaymentAnswer } from '../payment-answers.ts'
import { sendPublic } from '../send-public.ts'
import { answerPaidFailure, answerPreflight, PAID_CORS_HEADERS } from './x402.ts'

export interface PaymentRoutesOptions {
  /** @throws ServiceError `payment_unknown`, and those of the store */
  readonly showPayment: (paymentId: string) => Promise<Payment>
  /** The credit that a payer has left, millionths of a USDC. */
  readonly creditOf: (payer: string) => bigint
  /** Signed offers and receipts; nothing is signed without it. */
  readonly receipts?: {
    /** Undefined until there is something to be proved. */
    readonly of: (payment: Payment) => JsonObject | undefined
    readonly didDocument: () => JsonObject
  }
}

const PATH = '/x402/payments/:id'

/**
 * `GET /x402/payments/:id`: the state of a payment. Open to every holder of its id, which cannot be guessed and
 * stands in the answer that was paid for; neither that answer nor the signature is shown.
 */
export const paymentRoutes: FastifyPluginAsyncZod<PaymentRoutesOptions> = async (app, options) => {
  const { receipts } = options
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
  if (receipts !== undefined) {
    const operation = operationsOf({ tag: 'service' })(
      'didDocument',
      'Whose key signs the offers and receipts of this origin',
      revalidated('The document', 'application/did+json', anyObject),
    )
    app.get('/.well-known/did.json', { schema: { operation } }, async (request, reply) =>
      sendPublic(request, reply, 'application/did+json', JSON.stringify(receipts.didDocument())),
    )
  }
  answerPreflight(app, PATH)
}

/** A payment as the holder of its id sees it, over HTTP and MCP. @throws ServiceError `payment_unknown` */
export async function paymentAnswerOf(
  { showPayment, creditOf, receipts }: PaymentRoutesOptions,
  id: string,
): Promise<PaymentAnswer> {
  const payment = await showPayment(id)
  const receipt = receipts?.of(payment) as PaymentAnswer['receipt']
  const isCredit = payment.refund?.by === 'credit'
  return {
    ...toPaymentAnswer(payment),
    ...(isCredit && { credit_left_usdc: formatUsdc(creditOf(payment.payer)) }),
    ...(receipt && { receipt }),
  }
}
