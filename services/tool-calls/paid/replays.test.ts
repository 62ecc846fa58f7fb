import { afterEach, describe, expect, test } from 'vitest'
import { isServiceError, type ServiceError } from '../../../contracts/errors/errors.ts'
import type { EventType } from '../../../contracts/events/event-catalogue.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { createMemoryLog } from '../../../testing/memory-store/memory-store.ts'
import type { Chain } from '../../payments/chain/chain.ts'
import type { Payment } from '../../payments/payment.ts'
import {
  closePayments,
  PUBLIC_URL,
  paymentsInMemory,
  signedHeader,
  TRANSACTION,
} from '../../payments/testing/payments-in-memory.fixture.ts'
import { payerNumber } from '../../payments/testing/sign-payment.ts'
import { createPaidHandshake, type Paid, type PaidWork } from './handshake.ts'

afterEach(closePayments)

const alice = payerNumber(51)
const [BTC, ETH] = ['b'.repeat(64), 'e'.repeat(64)]

function start(change: Parameters<typeof paymentsInMemory>[0] = {}, log = createMemoryLog()) {
  const world = paymentsInMemory(change, log)
  const handshake = createPaidHandshake({
    payments: world.payments,
    publicUrl: () => PUBLIC_URL,
    clock: () => 0,
  })
  let serial = 0
  /** Pays with the first authorization of alice, and what is sent beside it. */
  async function ask(work: Partial<PaidWork> = {}, proof: readonly string[] = []): Promise<Paid> {
    const header = await signedHeader(alice, 1)
    const presented = world.payments.read(['PAYMENT-SIGNATURE', header, ...proof])
    return handshake.pay(presented ?? expect.fail('not read'), {
      product: 'get_trade_call',
      price: 20_000n,
      requestHash: () => ETH,
      compute: async () => ({ serial: ++serial }),
      accountId: null,
      mustSettleFirst: false,
      address: '192.0.2.1',
      requestId: 'request',
      signal: () => new AbortController().signal,
      ...work,
    })
  }
  const refused = async (
    work: Partial<PaidWork> = {},
    proof: readonly string[] = [],
  ): Promise<ServiceError> => {
    const error: unknown = await ask(work, proof).then(
      () => expect.fail('it was answered'),
      (thrown: unknown) => thrown,
    )
    return isServiceError(error) ? error : expect.fail(String(error))
  }
  const record = (payment: Payment, ...facts: readonly (readonly [EventType, object])[]): Promise<void> =>
    facts.reduce(
      (before, [type, data]) => before.then(() => world.settle(payment, type, data)),
      Promise.resolve(),
    )
  return { ...world, ask, refused, record }
}

const requested = (settler: string) => ['SettlementRequested', { attempt: 1, settler }] as const
const broadcast = ['SettlementBroadcast', { attempt: 1, transaction: TRANSACTION }] as const
const failed = ['SettlementFailed', { attempt: 1, reason: 'insufficient_funds' }] as const
const confirmed = (by: string) =>
  ['SettlementConfirmed', { transaction: TRANSACTION, blockNumber: 7, blockHash: TRANSACTION, by }] as const
const reorged = ['SettlementReorged', { transaction: TRANSACTION, blockNumber: 7 }] as const
const lost = ['PaymentUncollectable', { reason: 'cancelled', detail: 'a test' }] as const
const final = ['SettlementFinalised', { transaction: TRANSACTION, blockNumber: 7 }] as const

describe('while nobody else can know the signature, the same bytes are enough', () => {
  test.each<[string, Parameters<ReturnType<typeof start>['record']>[1][]]>([
    ['claimed', []],
    ['handed to a facilitator, which has not answered', [requested('facilitator')]],
    ['refused by a facilitator', [requested('facilitator'), failed]],
    ['handed to the gateway', [requested('gateway')]],
  ])('%s', async (_, facts) => {
    const { ask, record } = start()
    const { payment } = await ask()
    await record(payment, ...facts)
    expect(await ask()).toMatchObject({ isReplay: true, answer: { serial: 1 } })
  })
})

describe('once others can know it, they are not', () => {
  test.each<[string, Parameters<ReturnType<typeof start>['record']>[1][]]>([
    ['sent', [requested('facilitator'), broadcast]],
    ['sent, and come to nothing', [requested('facilitator'), broadcast, failed]],
    ['settled', [requested('facilitator'), broadcast, confirmed('facilitator')]],
    ['sent by somebody else', [confirmed('other')]],
    ['sent by somebody else, in a block that was taken back', [confirmed('other'), reorged]],
    ['cancelled on the chain', [lost]],
  ])('%s', async (_, facts) => {
    const { ask, refused, record } = start()
    const { payment, secret } = await ask()
    await record(payment, ...facts)
    const [guess, hit] = [await refused({ requestHash: () => BTC }), await refused()]
    expect(hit.code).toBe('payment_unproven')
    // Who guesses learns nothing of the request: neither by the answer, nor by what would have been computed.
    const toldOf = ({ code, message, details, nextStep }: ServiceError) => ({
      code,
      message,
      details,
      nextStep,
    })
    expect(toldOf(guess)).toEqual(toldOf(hit))
    expect(JSON.stringify(toldOf(hit))).not.toContain(payment.paymentId)
    const answered = { isReplay: true, answer: { serial: 1 } }
    expect(await ask({}, ['Payment-Secret', secret])).toMatchObject(answered)
    const mismatch = await refused({ requestHash: () => BTC }, ['Payment-Secret', secret])
    expect(mismatch.code).toBe('payment_mismatch')
  })

  test('also in another process over the same log, which derives the same secret', async () => {
    const log = createMemoryLog()
    const [one, other] = [start({}, log), start({}, log)]
    const { payment, secret } = await one.ask()
    await one.record(payment, requested('facilitator'), broadcast)
    expect((await other.refused()).code).toBe('payment_unproven')
    expect(await other.ask({}, ['Payment-Secret', secret])).toMatchObject({ isReplay: true })
    expect(JSON.stringify(await one.events())).not.toContain(secret)
  })
})

test('an answer that was not delivered stays open to its payer, however long ago it was paid', async () => {
  const world = start()
  const { ask, refused, record } = world
  const { payment, secret } = await ask()
  await record(payment, requested('facilitator'), broadcast)
  await record(payment, confirmed('facilitator'), final)
  expect((await refused()).code).toBe('payment_unproven')
  const before = (await world.events()).length
  expect(await ask({}, ['Payment-Secret', secret])).toMatchObject({ answer: { serial: 1 }, isReplay: true })
  expect(await world.events()).toHaveLength(before)
})

test('an authorization that paid us before it came here buys nothing', async () => {
  const used: Partial<Chain> = {
    payerStatus: async () => ({ balance: 10n ** 9n, isNonceUsed: true, hasCode: false }),
    outcomeOf: async () => ({
      kind: 'paid',
      transaction: TRANSACTION,
      blockNumber: 7,
      blockHash: TRANSACTION,
    }),
  }
  const world = start({ chain: used as Chain })
  const { refused } = world
  expect((await refused()).details?.['reason']).toBe('invalid_transaction_state')
  const plan = {
    product: 'plans/starter',
    accountId: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
    mustSettleFirst: true,
  } as const
  expect((await refused(plan)).code).toBe('payment_refused')
  expect(await world.claims()).toEqual([])
})

describe('an address that guesses is not looked at for a while', () => {
  test.each([
    ['which request a payment was for', 'payment_unproven', []],
    ['secrets', 'payment_unproven', ['Payment-Secret', 'x'.repeat(43)]],
  ] as const)('%s', async (_, code, proof) => {
    const { ask, refused, record } = start()
    const { payment, secret } = await ask()
    await record(payment, requested('facilitator'), broadcast)
    for (let n = 0; n < LIMITS.paymentsRefusedPerAddress; n++)
      expect((await refused({}, proof)).code).toBe(code)
    expect((await refused({}, proof)).code).toBe('rate_limited')
    // Who has the secret guesses nothing; other addresses have guesses of their own.
    expect(await ask({}, ['Payment-Secret', secret])).toMatchObject({ isReplay: true })
    expect((await refused({ address: '192.0.2.2' }, proof)).code).toBe(code)
  })

  test('requests with a payment of its own', async () => {
    const { ask, refused } = start()
    await ask()
    const other = { requestHash: () => BTC }
    for (let n = 0; n < LIMITS.paymentsRefusedPerAddress; n++)
      expect((await refused(other)).code).toBe('payment_mismatch')
    expect((await refused(other)).code).toBe('rate_limited')
    expect(await ask()).toMatchObject({ isReplay: true })
  })
})
