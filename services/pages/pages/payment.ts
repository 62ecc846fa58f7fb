import type { FastifyInstance } from 'fastify'
import type { PaymentAnswer } from '../../../contracts/answers/payment.ts'
import { facts, PAYMENT_TONES, tag, time, whole } from '../components.ts'
import { type Html, html } from '../html.ts'
import type { Page } from '../layout.ts'
import { sendPage } from '../send-page.ts'
import type { PagesOptions } from './series.ts'

/** `GET /account/payments/:id`: one payment, open to the holder of its id, as its answer is. */
export const showPayments = (app: FastifyInstance, { client, frame }: PagesOptions): void =>
  void app.get<{ Params: { id: string } }>('/account/payments/:id', async (request, reply) => {
    const path = `/x402/payments/${encodeURIComponent(request.params.id)}`
    return sendPage(reply, frame(), paymentPage(await client.must<PaymentAnswer>(request, { path })))
  })

/** The page of a payment; the id is all that it takes to see it. */
export const paymentPath = (id: string): string => `/account/payments/${id}`

const hash = (text: string | null): Html | string => (text === null ? '—' : html`<code>${text}</code>`)

/** One payment for people, as a receipt to keep or print. */
export function paymentPage(payment: PaymentAnswer): Page {
  const { id, state, reason, refunded_usdc: back, next_step: step } = payment
  return {
    title: `Payment of ${payment.amount_usdc} USDC`,
    at: '/account',
    isPrivate: true,
    body: html`<p class="dim noprint"><a href="/account#payments">Account</a></p>
<h1>${payment.amount_usdc} USDC for ${payment.product.replace('plans/', 'plan ')}</h1>
<p class="lead">${tag(state, PAYMENT_TONES[state])} ${reason !== null && `${reason.replaceAll('_', ' ')}. `}${step}</p>
${facts([
  ['Paid', html`${time(payment.claimed_at, 'second')} UTC`],
  ['By', hash(payment.payer)],
  ['Transaction', hash(payment.transaction)],
  ['Block', payment.block === null ? '—' : whole(payment.block)],
  ['Given back', Number(back) === 0 ? '—' : `${back} USDC`],
  ['Changed', html`${time(payment.changed_at, 'second')} UTC`],
  ['Id', hash(id)],
])}
<p class="dim noprint">The same for programs: <a href="/x402/payments/${id}"><code>GET /x402/payments/${id}</code></a></p>`,
  }
}
