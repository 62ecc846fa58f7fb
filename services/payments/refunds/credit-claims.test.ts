import { afterEach, expect, test } from 'vitest'
import { BASE } from '../../../contracts/chain.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { CreditGiven, RefundBegun } from '../../../contracts/refund-events.ts'
import { creditStream } from '../../../contracts/streams.ts'
import { createMemoryLog, openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../../log/event-store.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { Claim, VerifiedPayment } from '../payments.ts'
import {
  closePayments,
  newId,
  type PaymentsInMemory,
  paymentsInMemory,
  refundOnce,
  signedHeader,
} from '../testing/payments-in-memory.fixture.ts'
import { NOW_S, payerNumber } from '../testing/sign-payment.ts'
import { createCreditLedger } from './credit-ledger.ts'

afterEach(closePayments)

const payer = payerNumber(33)
const address = payer.address.toLowerCase()
const CALL = 20_000n
const PLAN = 49_000_000n

async function signed({ payments }: PaymentsInMemory, nonce: number, value = CALL): Promise<VerifiedPayment> {
  const presented = payments.read(['PAYMENT-SIGNATURE', await signedHeader(payer, nonce, { value })])
  if (presented === undefined) return expect.fail('the payment was not read')
  return payments.verify(presented, value)
}

const claimOf = (change: Partial<Claim> = {}): Claim => ({
  product: 'get_trade_call',
  requestHash: 'c'.repeat(64),
  answer: '{"call":"BUY"}',
  accountId: null,
  mustSettleFirst: false,
  requestId: 'request',
  ...change,
})
const A_PLAN = claimOf({ product: 'plans/pro', requestHash: 'd'.repeat(64), mustSettleFirst: true })

async function buy({ payments }: PaymentsInMemory, payment: VerifiedPayment, claim = claimOf()) {
  await payments.requirePayable(payment, claim)
  return payments.claim(payment, claim)
}

async function giveCredit(world: PaymentsInMemory, value = CALL): Promise<void> {
  const data = { payer: address, paymentId: newId(), value: `${value}`, balance: `${value}` }
  const event = newEvent(CreditGiven, {
    id: newId(),
    data,
    meta: { correlationId: 'test', actor: 'settler' },
  })
  await world.store.append(creditStream(8453, address), [event], { expected: 'no-stream' })
  await world.index.catchUp()
}

const ledgerOf = ({ store }: PaymentsInMemory) =>
  createCreditLedger({
    on: BASE,
    store,
    newId,
    now: () => NOW_S * 1_000,
    sleep,
    signal: new AbortController().signal,
  })

/** A log that refuses every claim until it is told otherwise; credit is taken ahead of the claim. */
function refusingClaims(log = createMemoryLog()): { store: EventStore; mend: () => void } {
  const store = openMemoryStore({ now: () => NOW_S * 1_000, log })
  let isMended = false
  const append: EventStore['append'] = (stream, events, options) =>
    stream.startsWith('payment-') && !isMended
      ? Promise.reject(new ServiceError('store_unavailable'))
      : store.append(stream, events, options)
  const refusing = new Proxy(store, {
    get: (target, name: keyof EventStore) => (name === 'append' ? append : target[name]),
  })
  return { store: refusing, mend: () => void (isMended = true) }
}

const creditsIn = async (world: PaymentsInMemory): Promise<string[]> =>
  (await world.events()).map(({ type }) => type).filter((type) => type.startsWith('Credit'))

test('credit that was taken for one amount covers no other one under the same nonce, after a log that refused the claim', async () => {
  const log = createMemoryLog()
  const { store, mend } = refusingClaims(log)
  const world = paymentsInMemory({ store, sleep: async () => undefined }, log)
  await giveCredit(world)
  await expect(buy(world, await signed(world, 1))).rejects.toMatchObject({ code: 'store_unavailable' })
  mend()
  const dearer = await signed(world, 1, PLAN)
  await expect(buy(world, dearer, A_PLAN)).rejects.toMatchObject({ code: 'payment_mismatch' })
  // Not even where somebody claims without having asked whether it can be paid.
  await expect(world.payments.claim(dearer, A_PLAN)).rejects.toMatchObject({ code: 'payment_mismatch' })
  expect(await world.claims()).toEqual([])
  expect((await buy(world, await signed(world, 1))).payment).toMatchObject({
    state: 'credited',
    value: '20000',
  })
  expect(await creditsIn(world)).toEqual(['CreditGiven', 'CreditUsed', 'CreditApplied'])
})

test('two processes that are asked for a cheap and a dear thing under one nonce give one of them, for its own price', async () => {
  for (const isCheapFirst of [true, false]) {
    const log = createMemoryLog()
    const worlds = [paymentsInMemory({}, log), paymentsInMemory({}, log)] as const
    await giveCredit(worlds[0])
    await worlds[1].index.catchUp()
    const cheap = async () => buy(worlds[0], await signed(worlds[0], 1))
    const dear = async () => buy(worlds[1], await signed(worlds[1], 1, PLAN), A_PLAN)
    const asks = isCheapFirst ? [cheap, dear] : [dear, cheap]
    const outcomes = await Promise.allSettled(asks.map(async (ask) => ask()))
    expect(outcomes.some(({ status }) => status === 'fulfilled')).toBe(true)
    const claims = await worlds[0].claims()
    expect(claims).toHaveLength(1)
    for (const event of await worlds[0].events())
      if (event.type === 'CreditApplied') expect(event.data['value']).toBe('20000')
  }
})

test('a process that died between credit and claim leaves the credit to the same authorization, in the next process', async () => {
  const log = createMemoryLog()
  const before = paymentsInMemory({}, log)
  await giveCredit(before)
  const payment = await signed(before, 1)
  await ledgerOf(before).take(address, payment.stream, CALL, 'request')
  const after = paymentsInMemory({}, log)
  await after.index.catchUp()
  await expect(buy(after, await signed(after, 1, PLAN), A_PLAN)).rejects.toMatchObject({
    code: 'payment_mismatch',
  })
  expect((await buy(after, await signed(after, 1))).payment.state).toBe('credited')
  expect(await creditsIn(after)).toEqual(['CreditGiven', 'CreditUsed', 'CreditApplied'])
})

test('credit is there again where another process, which knew of none, took money for the same authorization', async () => {
  const log = createMemoryLog()
  const [informed, late] = [paymentsInMemory({}, log), paymentsInMemory({}, log)]
  await giveCredit(informed)
  const payment = await signed(informed, 1)
  expect((await buy(late, payment)).payment.state).toBe('owed')
  const claimed = await informed.payments.claim(payment, claimOf())
  expect(claimed).toMatchObject({ isReplay: true, payment: { state: 'owed' } })
  await refundOnce(informed)
  expect(await ledgerOf(informed).covers(address, 'another authorization', CALL)).toBe(true)
  expect(await ledgerOf(informed).covers(address, 'another authorization', CALL + 1n)).toBe(false)
})

test('credit whose process died after it had lost the race comes back once, whoever asks and starts after it', async () => {
  const log = createMemoryLog()
  const [killed, late] = [paymentsInMemory({}, log), paymentsInMemory({}, log)]
  await giveCredit(killed)
  const payment = await signed(killed, 1)
  await buy(late, payment)
  await ledgerOf(killed).take(address, payment.stream, CALL, 'request')
  const next = paymentsInMemory({}, log)
  await next.index.catchUp()
  const again = await next.payments.find(payment, null)
  expect(again).toMatchObject({ isOwn: true, payment: { state: 'owed' } })
  expect(await ledgerOf(next).covers(address, 'another authorization', CALL)).toBe(false)
  await Promise.all([refundOnce(next), refundOnce(late)])
  await refundOnce(next)
  expect(await creditsIn(next)).toEqual(['CreditGiven', 'CreditUsed', 'CreditGiven'])
  await next.index.catchUp()
  expect(next.index.payer(address)?.credit).toBe(`${CALL}`)
})

test('credit that paid for its claim never comes back; that of an authorization nobody claimed does, once it has ended', async () => {
  const world = paymentsInMemory()
  await giveCredit(world, 2n * CALL)
  await buy(world, await signed(world, 1))
  const unclaimed = await signed(world, 2)
  await ledgerOf(world).take(address, unclaimed.stream, CALL, 'request')
  const longest = LIMITS.gatewayValidityMostS * 1_000 + LIMITS.refundGraceMs
  await refundOnce(world, { now: NOW_S * 1_000 + longest - 1 })
  expect(await ledgerOf(world).covers(address, 'another authorization', 1n)).toBe(false)
  for (let starts = 0; starts < 2; starts++) await refundOnce(world, { now: NOW_S * 1_000 + longest })
  expect(await ledgerOf(world).covers(address, 'another authorization', CALL)).toBe(true)
  expect(await ledgerOf(world).covers(address, 'another authorization', CALL + 1n)).toBe(false)
})

test.each(['before', 'after'])(
  'credit that came back after a lost race does not take the place of a refund of the same payment, which begins %s it',
  async (when) => {
    const log = createMemoryLog()
    const [informed, late] = [paymentsInMemory({}, log), paymentsInMemory({}, log)]
    await giveCredit(informed)
    const payment = await signed(informed, 1)
    const { paymentId } = (await buy(late, payment)).payment
    const refund = newEvent(RefundBegun, {
      id: newId(),
      data: { paymentId, by: 'credit', value: `${CALL}`, cause: 'answer_not_given', why: 'no_wallet' },
      meta: { correlationId: 'test', actor: 'settler' },
    })
    const begin = () => informed.store.append(payment.stream, [refund], { expected: 0 })
    if (when === 'before') await begin()
    await informed.payments.claim(payment, claimOf())
    await informed.payments.claim(payment, claimOf())
    await refundOnce(informed)
    await refundOnce(late)
    if (when === 'after') await begin()
    await informed.index.catchUp()
    expect(informed.index.payment(paymentId)?.refund).toMatchObject({
      by: 'credit',
      isDone: when === 'before',
    })
    await ledgerOf(informed).give(address, paymentId, CALL)
    await ledgerOf(informed).give(address, paymentId, CALL)
    await informed.index.catchUp()
    expect(informed.index.payment(paymentId)).toMatchObject({ state: 'refunded', refund: { isDone: true } })
    expect(informed.index.payer(address)?.credit).toBe(`${2n * CALL}`)
  },
)

test('credit that a former release gave back under the name of the payment is not given back again', async () => {
  const log = createMemoryLog()
  const [informed, late] = [paymentsInMemory({}, log), paymentsInMemory({}, log)]
  await giveCredit(informed)
  const payment = await signed(informed, 1)
  const { paymentId } = (await buy(late, payment)).payment
  const ledger = ledgerOf(informed)
  await ledger.take(address, payment.stream, CALL, 'request')
  await ledger.give(address, paymentId, CALL)
  await informed.payments.claim(payment, claimOf())
  await refundOnce(informed)
  // And not by a settler that had not read of it yet.
  await ledger.giveBack(address, payment.stream, (await buy(late, payment)).payment)
  expect(await ledger.covers(address, 'another authorization', CALL + 1n)).toBe(false)
})

test('a hundred calls by credit read each event of it once or twice, and another process may draw on it meanwhile', async () => {
  const log = createMemoryLog()
  const store = openMemoryStore({ now: () => NOW_S * 1_000, log })
  let reads = 0
  const counting = new Proxy(store, {
    get: (target, name: keyof EventStore) =>
      name !== 'read'
        ? target[name]
        : async function* (...given: Parameters<EventStore['read']>) {
            for await (const event of target.read(...given)) {
              if (given[0].startsWith('credit-')) reads += 1
              yield event
            }
          },
  })
  const world = paymentsInMemory({ store: counting }, log)
  await giveCredit(world, 103n * CALL)
  const ledger = ledgerOf(world)
  const other = ledgerOf(paymentsInMemory({}, log))
  for (let nonce = 1; nonce <= 100; nonce++) {
    const { stream } = await signed(world, nonce)
    expect(await ledger.covers(address, stream, CALL)).toBe(true)
    expect(await ledger.take(address, stream, CALL, 'request')).toBe(true)
    if (nonce % 50 === 0)
      expect(await other.take(address, `${stream}-of-another`, CALL, 'request')).toBe(true)
  }
  expect(reads).toBeLessThanOrEqual(2 * 103)
  const last = await signed(world, 101)
  expect(await Promise.all([ledger, other].map((one) => one.take(address, last.stream, CALL, 'r')))).toEqual([
    true,
    true,
  ])
  const beyond = await signed(world, 102)
  expect(await ledger.covers(address, beyond.stream, CALL)).toBe(false)
  expect(await other.take(address, beyond.stream, CALL, 'request')).toBe(false)
})
