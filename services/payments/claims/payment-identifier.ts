import { hash } from 'node:crypto'
import { ServiceError } from '../../../contracts/errors.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { PaymentIdentified } from '../../../contracts/payment-events.ts'
import { paymentIdentifierStream } from '../../../contracts/streams.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { VerifiedPayment } from '../payments.ts'
import type { PaymentLog } from './payment-log.ts'

/**
 * Binds the name that a client gave to a payment (x402, extension `payment-identifier`) to its authorization, before that is
 * claimed: who lost an answer and signed anew under the same name is not charged twice. A name is one payer's own.
 *
 * @throws ServiceError `payment_mismatch` where it named another authorization; `outcome_unknown`; of the store
 */
export async function bindIdentifier(
  {
    log,
    store,
    newId,
  }: { readonly log: PaymentLog; readonly store: EventStore; readonly newId: () => string },
  { identifier, payer, stream }: VerifiedPayment,
  requestId: string,
): Promise<void> {
  if (identifier === undefined) return
  const name = paymentIdentifierStream(hash('sha256', `${payer} ${identifier}`))
  const data = { payer, authorization: stream }
  const meta = { correlationId: requestId, actor: 'calls' }
  const appended = await log.append(
    name,
    [newEvent(PaymentIdentified, { id: newId(), data, meta })],
    'no-stream',
  )
  if (appended !== undefined) return
  for await (const recorded of store.read(name)) {
    const event = decodeEvent(recorded)
    if (event.type === 'PaymentIdentified' && event.data.authorization === stream) return
    throw new ServiceError('payment_mismatch', {
      message: `The payment identifier ${identifier} names another authorization of ${payer}; nothing was charged.`,
      nextStep:
        'Send the authorization that it was first sent with to have its answer, or give a new identifier to a new payment.',
    })
  }
  throw new ServiceError('outcome_unknown', {
    message: 'The log knows this payment identifier and does not show it yet; nothing was charged.',
  })
}
