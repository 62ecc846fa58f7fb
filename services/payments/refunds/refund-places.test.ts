import { afterEach, expect, test } from 'vitest'
import { BASE } from '../../../contracts/chain.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { RefundAllotted } from '../../../contracts/refund-events.ts'
import { refundsOfDayStream } from '../../../contracts/streams.ts'
import { rangeIn } from '../../../projections/given-events.fixture.ts'
import { rowsInMemory } from '../../../projections/index.ts'
import { type Payment } from '../state/payment-state.ts'
import { type PaymentsRow, payments as paymentsProjection } from '../state/payments.ts'
import {
  closePayments,
  newId,
  type PaymentsInMemory,
  paymentsInMemory,
  signedHeader,
  TRANSACTION,
} from '../testing/payments-in-memory.fixture.ts'
import { NOW_S } from '../testing/sign-payment.ts'
import type { RefundWallet } from './refund-wallet.ts'
import { createRefunder } from './refunder.ts'

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

/** One look of a refunder at a read model that stands still from then on. */
async function lookOnce(
  world: PaymentsInMemory,
  { balance, dailyCap }: { balance: bigint; dailyCap: bigint },
) {
  const rows = rowsInMemory<PaymentsRow>()
  const filter = { types: paymentsProjection.events }
  for await (const event of world.store.readAll({ filter })) paymentsProjection.fold(rows, decodeEvent(event))
  const wallet: RefundWallet = {
    address: `0x${'9'.repeat(40)}`,
    balance: async () => balance,
    sign: async () => `0x${'1'.repeat(130)}`,
  }
  const ending = new AbortController()
  const refunder = createRefunder({
    on: BASE,
    store: world.store,
    reader: { get: (key) => rows.get(key), range: (page) => rangeIn(rows.entries)(page) },
    wallet,
    dailyCap,
    newId,
    now: () => DUE_AT,
    sleep: async () => ending.abort(),
    report: () => undefined,
  })
  await refunder.run(ending.signal)
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
  await lookOnce(world, { balance: 1_000_000n, dailyCap: PRICE })
  expect(await begunIn(world)).toEqual(['transfer'])
  expect((await world.events()).filter(({ type }) => type === 'RefundAllotted')).toHaveLength(1)
})

test('a wallet that has enough for one promises it to one of two, although the read model shows neither', async () => {
  const world = paymentsInMemory()
  for (const nonce of [1, 2]) await paidInVain(world, nonce)
  await lookOnce(world, { balance: PRICE + PRICE / 2n, dailyCap: 1_000_000_000n })
  expect((await begunIn(world)).toSorted()).toEqual(['credit', 'transfer'])
})
