import { afterEach, expect, test } from 'vitest'
import { newEvent } from '../../../contracts/event-definition.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { RefundAllotted } from '../../../contracts/refund-events.ts'
import { refundsOfDayStream } from '../../../contracts/streams.ts'
import { type Payment } from '../state/payment-state.ts'
import {
  closePayments,
  newId,
  type PaymentsInMemory,
  paymentsInMemory,
  refundOnce,
  signedHeader,
  TRANSACTION,
} from '../testing/payments-in-memory.fixture.ts'
import { NOW_S } from '../testing/sign-payment.ts'

afterEach(closePayments)

const DUE_AT = NOW_S * 1_000 + LIMITS.refundAfterMs
const PRICE = 20_000n

/** A payment that came, and whose answer was not given: it is to be given back. */
async function paidInVain(world: PaymentsInMemory, nonce: number): Promise<Payment> {
  const { payments } = world
  const presented = payments.read(['PAYMENT-SIGNATURE', await signedHeader(61, nonce)])
  const payment = await payments.verify(presented ?? expect.fail('not read'), PRICE)
  const terms = { accountId: null, mustSettleFirst: true, requestId: 'request', answer: '{}' } as const
  const claim = { ...terms, product: 'get_trade_call', requestHash: 'f'.repeat(64) } as const
  await payments.requirePayable(payment, claim)
  const { payment: claimed } = await payments.claim(payment, claim)
  await payments.withhold(claimed, 'payment_pending')
  await world.confirm(claimed)
  await world.settle(claimed, 'SettlementFinalised', { transaction: TRANSACTION, blockNumber: 7 })
  return claimed
}

const begunIn = async (world: PaymentsInMemory): Promise<string[]> =>
  (await world.events()).flatMap(({ type, data }) => (type === 'RefundBegun' ? [data['by'] as string] : []))

test('a refund whose process died with its place under the cap of the day takes that place, and no second one', async () => {
  const world = paymentsInMemory()
  const { paymentId } = await paidInVain(world, 1)
  const day = new Date(DUE_AT).toISOString().slice(0, 10)
  const data = { paymentId, day, value: `${PRICE}`, total: `${PRICE}` }
  const meta = { correlationId: paymentId, actor: 'settler' }
  const allotted = newEvent(RefundAllotted, { id: newId(), data, meta })
  await world.store.append(refundsOfDayStream(day), [allotted], { expected: 'no-stream' })
  // The cap has room for one.
  await refundOnce(world, { now: DUE_AT, balance: 1_000_000n, dailyCap: PRICE })
  expect(await begunIn(world)).toEqual(['transfer'])
  expect((await world.events()).filter(({ type }) => type === 'RefundAllotted')).toHaveLength(1)
})

test('a wallet that has enough for one promises it to one of two, although the read model shows neither', async () => {
  const world = paymentsInMemory()
  for (const nonce of [1, 2]) await paidInVain(world, nonce)
  await refundOnce(world, { now: DUE_AT, balance: PRICE + PRICE / 2n, dailyCap: 1_000_000_000n })
  expect((await begunIn(world)).toSorted()).toEqual(['credit', 'transfer'])
})
