import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { addressSchema, bytes32Schema, parseUsdc, USDC_TEXT } from '../../../contracts/chain.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { rowsParameter } from '../../../contracts/parameters.ts'
import { paymentAnswerSchema, paymentsAnswerSchema } from '../../../contracts/payment-answers.ts'
import { PAYMENT_STATES } from '../../../contracts/service-block.ts'
import type { PaymentAdmin } from '../../payments/index.ts'
import { operatorOrigin, useOperatorOnly } from '../operator.ts'
import { toPaymentAnswer } from '../payment-answers.ts'

export interface OperatorPaymentRoutesOptions {
  readonly paymentAdmin: Pick<PaymentAdmin, 'list' | 'show' | 'refund'>
}

const paymentId = z.uuid().toLowerCase()
const idParams = z.strictObject({ id: paymentId })

const listSchema = z.strictObject({
  state: z.enum(PAYMENT_STATES).optional(),
  payer: addressSchema.optional(),
  after: paymentId.optional(),
  limit: rowsParameter(LIMITS.paymentRows),
})

const refundSchema = z.strictObject({
  transaction: bytes32Schema,
  usdc: z
    .string()
    .regex(USDC_TEXT, 'must be an amount of USDC with at most six decimals, as text: "0.02"')
    .transform(parseUsdc)
    .refine((value) => value > 0n, 'must be more than nothing'),
  reason: z.string().trim().min(1).max(200),
})

/** Payments for the operator, under `/operator`: by the owner's socket or with the operator's token. */
export const operatorPaymentRoutes: FastifyPluginAsyncZod<
  OperatorPaymentRoutesOptions & { readonly operatorToken: string | undefined }
> = async (app, { paymentAdmin: admin, operatorToken }) => {
  useOperatorOnly(app, operatorToken)

  const list = { querystring: listSchema, response: { 200: paymentsAnswerSchema } }
  app.get('/operator/payments', { schema: list }, async ({ query }) => {
    const rows = await admin.list(query)
    const next = rows.length < query.limit ? null : (rows.at(-1)?.paymentId ?? null)
    return { payments: rows.map(toPaymentAnswer), next }
  })

  const show = { params: idParams, response: { 200: paymentAnswerSchema } }
  app.get('/operator/payments/:id', { schema: show }, async ({ params }) =>
    toPaymentAnswer(await admin.show(params.id)),
  )

  const refund = { ...show, body: refundSchema }
  app.post('/operator/payments/:id/refund', { schema: refund }, async (request) => {
    const { transaction, usdc: value, reason: why } = request.body
    const sent = { transaction, value, reason: why }
    return toPaymentAnswer(await admin.refund(request.params.id, sent, operatorOrigin(request)))
  })
}
