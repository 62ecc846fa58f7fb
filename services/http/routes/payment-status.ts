import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { type PaymentAnswer, paymentAnswerSchema } from '../../../contracts/answers/payment.ts'
import { formatUsdc } from '../../../contracts/domain/chain.ts'
import { isoTime } from '../../../contracts/domain/iso-time.ts'
import type { Payment } from '../../payments/index.ts'
import { openRoutes } from '../add-routes.ts'
import { operation } from '../openapi.ts'
import {
  answerPaidFailure,
  answerPreflight,
  PAID_CORS_HEADERS,
  type PaidRoutesOptions,
  paidRoutes,
} from './x402.ts'

export interface PaymentRoutesOptions {
  /** @throws ServiceError `not_found`, and those of the store */
  readonly showPayment: (paymentId: string) => Promise<Payment>
}

const PATH = '/x402/payments/:id'

/** Everything that is paid for request by request, and what became of the payments. */
export const paymentsPlugin: FastifyPluginAsync<PaymentRoutesOptions & PaidRoutesOptions> = async (
  app,
  options,
) => {
  await app.register(paidRoutes, options)
  await app.register(statusRoute, options)
}

/**
 * `GET /x402/payments/:id`: the state of a payment. Open to every holder of its id, which cannot be guessed and
 * stands in the answer that was paid for; neither that answer nor the signature is shown.
 */
const statusRoute: FastifyPluginAsync<PaymentRoutesOptions> = async (app, options) => {
  app.setErrorHandler(answerPaidFailure)
  app.addHook('onRequest', async (_request, reply) => void reply.headers(PAID_CORS_HEADERS))
  openRoutes(app)(`GET ${PATH}`, {
    ...operation('payments', 'payment', 'The state of a payment'),
    description: 'Open to every holder of the id, which stands in the answer that was paid for.',
    params: z.strictObject({
      id: z.uuid().toLowerCase().describe('The id of the payment: `_service.payment.id`'),
    }),
    response: { 200: paymentAnswerSchema },
    handle: async (_request, { id }) => toPaymentAnswer(await options.showPayment(id)),
  })
  answerPreflight(app, PATH)
}

/** The next step of the payer, by the state of the payment. */
const NEXT_STEPS: Readonly<Record<Payment['state'], string>> = {
  owed: 'Nothing to do: it will be settled. Do not pay again for the same answer.',
  settling: 'Nothing to do: it is being settled. Do not pay again for the same answer.',
  broadcast: 'Nothing to do: its transaction is on the way. Do not pay again for the same answer.',
  unknown:
    'Nothing to do: what became of the transaction is being looked up. Do not pay again for the same answer.',
  confirmed: 'Nothing to do: it is paid. Its block becomes final in a while.',
  final: 'Nothing to do: it is paid, for good.',
  uncollectable:
    'See `reason`. Where the answer was given before it was paid, this payer has further answers only after their money is there, until it has paid as much. Otherwise ask for the answer once more: what was paid after all is found then.',
  refunded: 'Nothing to do: it was given back.',
}

/** A payment as the holder of its id sees it. */
export const toPaymentAnswer = (payment: Payment): PaymentAnswer => ({
  id: payment.paymentId,
  state: payment.state,
  rail: payment.rail,
  product: payment.product,
  payer: payment.payer,
  amount_usdc: usdc(payment.value),
  refunded_usdc: usdc(payment.refunded),
  is_served_first: payment.isServedFirst,
  transaction: payment.transaction,
  block: payment.blockNumber,
  reason: payment.reason,
  claimed_at: isoTime(payment.claimedAtMs),
  changed_at: isoTime(payment.changedAtMs),
  valid_until: isoTime(payment.validBeforeS * 1_000),
  next_step: NEXT_STEPS[payment.state],
})

const usdc = (microUsdc: string): string => formatUsdc(BigInt(microUsdc))
