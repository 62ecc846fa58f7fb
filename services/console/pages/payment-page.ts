import type { PaymentAnswer } from '../../../contracts/payment-answers.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { facts, PAYMENT_TONES, tag, time, whole } from './parts.ts'

/** The page of a payment; the id is all that it takes to see it. */
export const paymentPath = (id: string): string => `/account/payments/${id}`

const hash = (text: string | null): Html | string => (text === null ? '—' : html`<code>${text}</code>`)

/** One payment for people, as a receipt to keep or print. */
export function paymentPage(payment: PaymentAnswer): Page {
  const { id, state, reason, refund, credit_left_usdc: credit, next_step: step } = payment
  return {
    title: `Payment of ${payment.amount_usdc} USDC`,
    at: '/account',
    isPrivate: true,
    body: html`<p class="dim noprint"><a href="/account#payments">Account</a></p>
<h1>${payment.amount_usdc} USDC for ${payment.product.replace('plans/', 'plan ')}</h1>
<p class="lead">${tag(state, PAYMENT_TONES[state])} ${reason !== null && `${reason.replaceAll('_', ' ')}. `}${step}</p>
${facts([
  ['Paid', time(payment.claimed_at, 'second')],
  ['By', hash(payment.payer)],
  ['Transaction', hash(payment.transaction)],
  ['Block', payment.block === null ? '—' : whole(payment.block)],
  ['Given back', refund === null ? '—' : html`${refund.amount_usdc} USDC as a ${refund.as}, ${refund.state}`],
  ...(refund === null ? [] : [['Transaction of it', hash(refund.transaction)] as const]),
  ...(credit === undefined ? [] : [['Credit left', `${credit} USDC`] as const]),
  ['Changed', time(payment.changed_at, 'second')],
  ['Id', hash(id)],
])}
<p class="dim noprint">The same for programs: <a href="/x402/payments/${id}"><code>GET /x402/payments/${id}</code></a></p>`,
  }
}
