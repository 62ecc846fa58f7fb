import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { BASE } from '../../contracts/domain/chain.ts'
import { type ErrorCode, ServiceError } from '../../contracts/errors/errors.ts'
import { PaymentClaimed } from '../../contracts/events/payment-events.ts'
import type { NewEvent } from '../../contracts/infra/event.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { createMemoryLog, openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../log/event-store.ts'
import type { Chain, PayerStatus } from './chain/chain.ts'
import type { Payment } from './payment.ts'
import type { Claim, VerifiedPayment } from './payments.ts'
import type { FacilitatorOpinion } from './settlement/facilitator.ts'
import {
  closePayments,
  type PaymentsInMemory,
  paymentsInMemory,
  signedHeader,
  TRANSACTION,
  WEEK,
} from './testing/payments-in-memory.fixture.ts'
import { NOW_S, nonceNumber, PAY_TO, payerNumber, type TestPayer } from './testing/sign-payment.ts'

const [alice, bob] = [payerNumber(21), payerNumber(22)]
afterEach(closePayments)

/** A chain that says the same of everybody, and whom it was asked about. */
const chainOf = (answer: PayerStatus | ServiceError) => {
  const asked: string[] = []
  const chain = {
    async payerStatus({ payer, nonce }: { payer: string; nonce: string }) {
      asked.push(`${payer} ${nonce}`)
      if (answer instanceof ServiceError) throw answer
      return answer
    },
  } as unknown as Chain
  return { chain, asked }
}

const start = paymentsInMemory
type World = Pick<PaymentsInMemory, 'payments'>

async function verified(
  { payments }: World,
  number: number,
  change: Parameters<typeof signedHeader>[2] = {},
  payer: TestPayer = alice,
  proof: readonly string[] = [],
): Promise<VerifiedPayment> {
  const header = await signedHeader(payer, number, change)
  const presented = payments.read(['PAYMENT-SIGNATURE', header, ...proof])
  if (presented === undefined) throw new Error('not read')
  return payments.verify(presented, presented.value)
}

const aClaim = (change: Partial<Claim> = {}): Claim => ({
  product: 'get_trade_call',
  requestHash: 'a'.repeat(64),
  answer: '{"call":"BUY"}',
  accountId: null,
  mustSettleFirst: false,
  requestId: 'req-1',
  ...change,
})

/** Asks about the payer and claims, as a request does. */
async function take({ payments }: World, payment: VerifiedPayment, claim = aClaim()) {
  await payments.requirePayable(payment, claim)
  return payments.claim(payment, claim)
}

const refusal = async (work: Promise<unknown>) => {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof ServiceError)) throw new Error(`not refused: ${String(error)}`)
  return { code: error.code, ...error.details }
}

describe('a claim', () => {
  test.each([
    ['direct', {}],
    ['gateway', WEEK],
  ] as const)(
    'on the %s rail is recorded as its schema would have it, letter for letter',
    async (_, change) => {
      const world = start()
      await world.payments.claim(await verified(world, 1, change), aClaim())
      const [event] = await world.events()
      expect(JSON.stringify(event?.data)).toBe(JSON.stringify(PaymentClaimed.data.parse(event?.data)))
    },
  )

  test('is refused with an answer beyond what an event takes, and not with one as long', async () => {
    const world = start()
    const answerOf = (length: number) => aClaim({ answer: JSON.stringify('x'.repeat(length - 2)) })
    const payment = await verified(world, 1)
    const refused = world.payments.claim(payment, answerOf(262_145))
    expect(await refusal(refused)).toEqual({ code: 'event_invalid' })
    expect((await world.payments.claim(payment, answerOf(262_144))).isReplay).toBe(false)
  })

  test('is one event with everything that settling and answering again need, and wakes the settler', async () => {
    const world = start()
    const payment = await verified(world, 1)
    const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`
    const claimed = await take(world, payment, aClaim({ traceparent }))
    expect(claimed).toMatchObject({ requestHash: 'a'.repeat(64), answer: '{"call":"BUY"}', isReplay: false })
    const events = await world.events()
    expect(events).toHaveLength(1)
    expect(events[0]).toMatchObject({
      type: 'PaymentClaimed',
      stream: payment.stream,
      revision: 0,
      meta: { correlationId: 'req-1', actor: 'calls', traceparent },
      data: {
        paymentId: claimed.payment.paymentId,
        rail: 'direct',
        protocol: 2,
        chainId: 8453,
        contract: BASE.usdc.toLowerCase(),
        payer: alice.address.toLowerCase(),
        payTo: PAY_TO,
        value: '20000',
        validAfter: '0',
        validBefore: NOW_S + 300,
        nonce: nonceNumber(1),
        signature: payment.signature,
        isServedFirst: true,
      },
    })
    expect(await world.payments.find(payment, null)).toEqual({ ...claimed, isReplay: true, isOwn: true })
  })

  test('of an authorization that was used, by whichever process, is the one that was there', async () => {
    const log = createMemoryLog()
    const [one, other] = [start({}, log), start({}, log)]
    const payment = await verified(one, 1)
    const first = await take(one, payment, aClaim())
    const second = await take(other, payment, aClaim({ requestHash: 'b'.repeat(64), answer: '{}' }))
    expect(second).toEqual({ ...first, isReplay: true })
    expect(await one.events()).toHaveLength(1)
  })

  test('that many make at the same time is made once', async () => {
    const log = createMemoryLog()
    const worlds = Array.from({ length: 4 }, () => start({}, log))
    const payment = await verified(worlds[0] as World, 1)
    const claims = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        take(worlds[n % 4] as World, payment, aClaim({ answer: `{"n":${n}}` })),
      ),
    )
    expect(claims.filter(({ isReplay }) => !isReplay)).toHaveLength(1)
    expect(new Set(claims.map(({ answer }) => answer)).size).toBe(1)
    expect(await worlds[0]?.events()).toHaveLength(1)
  })

  test('of the same nonce on the other rail is another one', async () => {
    const world = start()
    const direct = await take(world, await verified(world, 1), aClaim())
    const gateway = await take(world, await verified(world, 1, WEEK), aClaim())
    expect([direct.isReplay, gateway.isReplay]).toEqual([false, false])
    expect(gateway.payment).toMatchObject({ rail: 'gateway', isServedFirst: false })
    expect(gateway.payment.stream).toContain(BASE.gateway.toLowerCase())
  })
})

/** A store whose appends fail as told, before or after they have happened. */
function failing(inner: EventStore, faults: { readonly code: ErrorCode; readonly isDone: boolean }[]) {
  const used: string[] = []
  const append: EventStore['append'] = async (stream, events, options) => {
    used.push(...events.map(({ id }: NewEvent) => id))
    const fault = faults.shift()
    if (fault?.isDone !== false) {
      const result = await inner.append(stream, events, options)
      if (fault === undefined) return result
    }
    throw new ServiceError(fault?.code ?? 'internal_error')
  }
  return { store: { ...inner, append } satisfies EventStore, used }
}

describe('a log that does not answer', () => {
  const open = () => openMemoryStore({ now: () => NOW_S * 1_000 })
  const now = { sleep: async () => undefined }

  test.each([true, false])('is asked with the same id again; the append had happened: %s', async (isDone) => {
    const { store, used } = failing(open(), [
      { code: 'append_unknown', isDone },
      { code: 'append_unknown', isDone: false },
    ])
    const world = start({ store, ...now })
    const claimed = await take(world, await verified(world, 1), aClaim())
    expect(claimed.isReplay).toBe(false)
    expect(new Set(used).size).toBe(1)
    expect(used).toHaveLength(3)
    expect(await world.events()).toHaveLength(1)
  })

  test('for long is reported; the same payment then finds its claim, or makes it', async () => {
    for (const isDone of [true, false]) {
      const faults = Array.from({ length: 500 }, () => ({ code: 'append_unknown' as const, isDone }))
      const { store } = failing(open(), faults)
      const world = start({ store, ...now, caps: { payer: 20_000n, total: 20_000n } })
      const payment = await verified(world, 1)
      expect(await refusal(take(world, payment))).toEqual({ code: 'outcome_unknown' })
      faults.length = 0
      expect((await world.payments.find(payment, null)) !== undefined).toBe(isDone)
      // What was not taken counts for nothing: there is room for exactly one.
      const again = await take(world, payment, aClaim())
      expect(again).toMatchObject({ isReplay: isDone, payment: { isServedFirst: true } })
      const claims = (await world.events()).filter(({ type }) => type === 'PaymentClaimed')
      expect(claims).toHaveLength(1)
    }
  })

  test('and is full charges nothing', async () => {
    const { store } = failing(
      open(),
      Array.from({ length: 500 }, () => ({ code: 'store_full', isDone: false })),
    )
    const world = start({ store, ...now })
    const payment = await verified(world, 1)
    expect(await refusal(take(world, payment, aClaim()))).toEqual({ code: 'store_full' })
    expect(await world.payments.find(payment, null)).toBeUndefined()
  })
})

test('an authorization that was claimed in time has its answer also afterwards; one that was not is refused then', async () => {
  let time = NOW_S * 1_000
  const world = start({ now: () => time, elapsed: () => time })
  const payment = await verified(world, 1)
  const other = await verified(world, 2)
  await world.payments.requirePayable(payment, aClaim())
  const { answer } = await take(world, payment, aClaim())
  time += 10 * 60_000
  const again = await verified(world, 1)
  expect(await world.payments.find(again, null)).toMatchObject({ answer, isReplay: true })
  expect(await refusal(world.payments.requirePayable(other, aClaim()))).toEqual({
    code: 'payment_refused',
    reason: 'invalid_exact_evm_payload_authorization_valid_before',
  })
})

describe('who is served first', () => {
  const isServedFirst = async (
    world: World,
    number: number,
    change = {},
    claim: Partial<Claim> = {},
    payer = alice,
  ) => (await take(world, await verified(world, number, change, payer), aClaim(claim))).payment.isServedFirst

  test('is decided with what is not in the read model yet', async () => {
    const world = start({ caps: { payer: 50_000n, total: 50_000_000n } })
    expect(await isServedFirst(world, 1)).toBe(true)
    expect(await isServedFirst(world, 2)).toBe(true)
    expect(await isServedFirst(world, 3)).toBe(false)
    expect(await isServedFirst(world, 4, {}, {}, bob)).toBe(true)
    await world.index.catchUp()
    expect(await isServedFirst(world, 5)).toBe(false)
    const settled = await world.payments.find(await verified(world, 1), null)
    await world.confirm(settled?.payment as Payment)
    expect(await isServedFirst(world, 6)).toBe(false)
    await world.index.catchUp()
    expect(await isServedFirst(world, 7)).toBe(true)
  })

  test('is decided with what others are claiming at the same moment', async () => {
    const world = start({ caps: { payer: 50_000n, total: 50_000_000n } })
    const payments = await Promise.all(Array.from({ length: 8 }, (_, n) => verified(world, n + 1)))
    const claims = await Promise.all(payments.map((payment) => take(world, payment, aClaim())))
    expect(claims.filter(({ payment }) => payment.isServedFirst)).toHaveLength(2)
  })

  test('is nobody who was served and did not pay, until as much was paid in advance', async () => {
    const world = start()
    const lost = await take(world, await verified(world, 1), aClaim())
    await world.lose(lost.payment)
    await world.index.catchUp()
    const second = await take(world, await verified(world, 2), aClaim())
    expect(second.payment.isServedFirst).toBe(false)
    expect(await isServedFirst(world, 3, {}, {}, bob)).toBe(true)
    await world.confirm(second.payment)
    await world.index.catchUp()
    expect(await isServedFirst(world, 4)).toBe(true)
  })

  test('is nobody at the gateway, and nobody where it must not be', async () => {
    const world = start()
    expect(await isServedFirst(world, 1, WEEK)).toBe(false)
    expect(await isServedFirst(world, 2, {}, { mustSettleFirst: true })).toBe(false)
  })

  test('is nobody past the cap of all payers: they are settled first, whoever they are', async () => {
    const world = start({ caps: { payer: 1_000_000n, total: 30_000n } })
    expect(await isServedFirst(world, 1)).toBe(true)
    expect(await isServedFirst(world, 2, {}, {}, bob)).toBe(false)
    expect(await isServedFirst(world, 3)).toBe(false)
  })

  test('is nobody of whom it is not known what it has', async () => {
    const world = start({ chain: undefined })
    expect(await isServedFirst(world, 1)).toBe(false)
    const unasked = start()
    const claimed = await unasked.payments.claim(await verified(unasked, 1), aClaim())
    expect(claimed.payment.isServedFirst).toBe(false)
  })

  test('is refused where the payer has promised the money to what is settled first, too', async () => {
    const chain = chainOf({ balance: 9_990_000n, isNonceUsed: false, hasCode: false }).chain
    const world = start({ chain })
    const plan = { value: 9_990_000n }
    const mustSettleFirst = aClaim({ mustSettleFirst: true })
    await take(world, await verified(world, 1, plan), mustSettleFirst)
    for (const catchUp of [async () => undefined, () => world.index.catchUp()]) {
      await catchUp()
      const second = take(world, await verified(world, 2, plan), mustSettleFirst)
      expect(await refusal(second)).toEqual({ code: 'payment_refused', reason: 'insufficient_funds' })
    }
  })

  test('claims that wait for their money are bounded for a payer, and refused before anything is asked', async () => {
    const { chain, asked } = chainOf({ balance: 10n ** 12n, isNonceUsed: false, hasCode: false })
    const world = start({ chain })
    const plan = aClaim({ mustSettleFirst: true })
    const wait = async (number: number, payer = alice) =>
      take(world, await verified(world, number, {}, payer), plan)
    for (let n = 1; n <= LIMITS.claimsWaitingPerPayer; n++) await wait(n)
    await world.index.catchUp()
    const before = asked.length
    const refused = { code: 'payments_unavailable', retry_after_s: 5 }
    expect(await refusal(wait(100))).toEqual(refused)
    expect(asked).toHaveLength(before)
    // Neither another payer, nor what is served first, nor the other rail.
    await wait(101, bob)
    expect(await isServedFirst(world, 102)).toBe(true)
    await take(world, await verified(world, 103, WEEK))
    const first = await world.payments.find(await verified(world, 1), null)
    await world.confirm(first?.payment as Payment)
    await world.index.catchUp()
    await wait(104)
  })

  test('cannot be told while the read model does not follow the log, or is not there', async () => {
    const world = start()
    world.index.isLive = false
    const payment = await verified(world, 1)
    const refused = { code: 'payments_unavailable', retry_after_s: 1 }
    expect(await refusal(world.payments.claim(payment, aClaim()))).toEqual(refused)
    expect(await refusal(world.payments.requirePayable(payment, aClaim()))).toEqual(refused)
    const without = start({ index: undefined })
    expect(await refusal(take(without, payment, aClaim()))).toEqual(refused)
    expect(without.payments.isTaking('direct')).toBe(false)
    expect(await without.events()).toEqual([])
  })
})

describe('requirePayable', () => {
  const facts: PayerStatus = { balance: 50_000n, isNonceUsed: false, hasCode: false }
  test.each<[string, Partial<PayerStatus>, string]>([
    ['a nonce that was used', { isNonceUsed: true }, 'invalid_transaction_state'],
    ['an account with code', { hasCode: true }, 'invalid_exact_evm_payload_signature'],
    ['too little money', { balance: 19_999n }, 'insufficient_funds'],
  ])('refuses %s', async (_, change, reason) => {
    const { chain, asked } = chainOf({ ...facts, ...change })
    const world = start({ chain })
    const payment = await verified(world, 1)
    const refused = await refusal(world.payments.requirePayable(payment, aClaim()))
    expect(refused).toEqual({ code: 'payment_refused', reason })
    expect(asked).toEqual([`${alice.address.toLowerCase()} ${nonceNumber(1)}`])
    expect(await world.payments.find(payment, null)).toBeUndefined()
  })

  test('refuses who has promised the money already', async () => {
    const world = start({ chain: chainOf(facts).chain })
    for (const number of [1, 2]) {
      const payment = await verified(world, number)
      await world.payments.requirePayable(payment, aClaim())
      await take(world, payment, aClaim())
    }
    const third = await verified(world, 3)
    expect(await refusal(world.payments.requirePayable(third, aClaim()))).toMatchObject({
      reason: 'insufficient_funds',
    })
  })

  test('lets two in for the money of one, and takes one of them', async () => {
    const world = start({ chain: chainOf({ ...facts, balance: 30_000n }).chain })
    const both = [await verified(world, 1), await verified(world, 2)]
    await Promise.all(both.map((payment) => world.payments.requirePayable(payment, aClaim())))
    const claims = await Promise.allSettled(both.map((payment) => world.payments.claim(payment, aClaim())))
    expect(claims.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(await world.events()).toHaveLength(1)
  })

  test('passes on that the chain does not answer, and nothing is consumed', async () => {
    const world = start({ chain: chainOf(new ServiceError('payments_unavailable')).chain })
    const payment = await verified(world, 1)
    expect(await refusal(world.payments.requirePayable(payment, aClaim()))).toEqual({
      code: 'payments_unavailable',
    })
    expect(await world.events()).toEqual([])
  })

  test('asks the gateway about payments on its rail, and remembers an empty account for a moment', async () => {
    let time = NOW_S * 1_000
    const { chain, asked } = chainOf({ balance: 0n, isNonceUsed: true, hasCode: true })
    const opinions: FacilitatorOpinion[] = [
      { kind: 'valid' },
      { kind: 'unknown', reason: 'it did not answer' },
      { kind: 'refused', reason: 'its own words', code: 'unexpected_verify_error' },
      { kind: 'refused', reason: 'insufficient_balance', code: 'insufficient_funds' },
      { kind: 'valid' },
    ]
    const verify = async (): Promise<FacilitatorOpinion> => opinions.shift() ?? expect.fail('asked too often')
    const world = start({
      now: () => time,
      elapsed: () => time,
      chain,
      gateway: { verify },
    })
    const payable = async (number: number) =>
      world.payments.requirePayable(await verified(world, number, WEEK), aClaim())
    await payable(1)
    expect(await refusal(payable(2))).toEqual({ code: 'payments_unavailable', retry_after_s: 5 })
    const unknown = { code: 'payment_refused', reason: 'unexpected_verify_error' }
    expect(await refusal(payable(3))).toEqual(unknown)
    const empty = { code: 'payment_refused', reason: 'insufficient_funds' }
    expect(await refusal(payable(4))).toEqual(empty)
    expect(await refusal(payable(5))).toEqual(empty)
    expect(opinions).toHaveLength(1)
    time += LIMITS.payerRefusedMs
    await payable(6)
    expect(asked).toEqual([])
  })
})

describe('servable', () => {
  const never = new AbortController().signal
  const settledFirst = async (world: World) =>
    take(world, await verified(world, 1), aClaim({ mustSettleFirst: true }))

  test('is at once what is served first, although nobody has settled it', async () => {
    const world = start()
    const claimed = await take(world, await verified(world, 1), aClaim())
    expect(await world.payments.servable(claimed, never)).toBe(claimed.payment)
  })

  test('is what another process has settled meanwhile', async () => {
    const log = createMemoryLog()
    const [world, settler] = [start({}, log), start({}, log)]
    const claimed = await settledFirst(world)
    const waiting = world.payments.servable(claimed, never)
    for (let turn = 0; turn < 5; turn++) await setImmediate()
    await settler.confirm(claimed.payment)
    expect(await waiting).toMatchObject({ state: 'confirmed', transaction: TRANSACTION })
  })

  test('is what was settled before anybody waited', async () => {
    const world = start()
    const claimed = await settledFirst(world)
    await world.confirm(claimed.payment)
    expect(await world.payments.servable(claimed, never)).toMatchObject({ state: 'confirmed' })
  })

  test.each([
    ['cancelled', 'invalid_transaction_state'],
    ['expired', 'invalid_exact_evm_payload_authorization_valid_before'],
    ['insufficient_funds', 'insufficient_funds'],
    ['refused', 'unexpected_settle_error'],
    ['unclear', 'unexpected_settle_error'],
  ])('is never what is uncollectable: %s', async (why, reason) => {
    const world = start()
    const claimed = await settledFirst(world)
    const waiting = refusal(world.payments.servable(claimed, never))
    await world.lose(claimed.payment, why)
    expect(await waiting).toEqual({ code: 'payment_refused', reason })
  })

  test('does not say that nothing was charged where nobody knows', async () => {
    const told = async (why: string): Promise<string> => {
      const world = start()
      const claimed = await settledFirst(world)
      await world.lose(claimed.payment, why)
      const error: unknown = await world.payments.servable(claimed, never).catch((thrown: unknown) => thrown)
      return error instanceof Error ? error.message : 'no error'
    }
    expect(await told('expired')).toContain('Nothing was charged')
    expect(await told('unclear')).not.toMatch(/nothing was charged/i)
    expect(await told('unclear')).toContain('is not known here')
  })

  test('is pending after the time that a request waits, and settled when asked again', async () => {
    let clock = NOW_S * 1_000
    const waits: number[] = []
    const world = start({
      now: () => clock,
      elapsed: () => clock,
      sleep: async (milliseconds) => {
        waits.push(milliseconds)
        clock += milliseconds
      },
    })
    const claimed = await settledFirst(world)
    const pending = { code: 'payment_pending', state: 'owed' }
    expect(await refusal(world.payments.servable(claimed, never))).toEqual(pending)
    expect(waits.reduce((sum, each) => sum + each, 0)).toBe(20_000)
    await world.confirm(claimed.payment)
    expect(await world.payments.servable(claimed, never)).toMatchObject({ state: 'confirmed' })
  })

  test('is found settled although nobody tells of it: the log is read again and again', async () => {
    const inner = openMemoryStore({ now: () => NOW_S * 1_000 })
    const deaf: EventStore = {
      ...inner,
      subscribe: ({ signal }) => ({
        [Symbol.asyncIterator]: () => ({
          async next() {
            if (!signal.aborted) await once(signal, 'abort')
            return { done: true, value: undefined }
          },
        }),
      }),
    }
    const looked: number[] = []
    const world = start({
      store: deaf,
      async sleep(milliseconds) {
        looked.push(milliseconds)
        if (looked.length === 3) await world.confirm(claimed.payment)
      },
    })
    const claimed = await settledFirst(world)
    expect(await world.payments.servable(claimed, never)).toMatchObject({ state: 'confirmed' })
    expect(looked).toEqual([500, 500, 500])
  })

  test('is told to all that wait for it', async () => {
    const world = start()
    const claimed = await settledFirst(world)
    const waiting = Promise.all([1, 2, 3].map(() => world.payments.servable(claimed, never)))
    await world.confirm(claimed.payment)
    expect((await waiting).map(({ state }) => state)).toEqual(['confirmed', 'confirmed', 'confirmed'])
  })

  test('is pending for who does not wait any more, and when this process ends', async () => {
    const world = start()
    const claimed = await settledFirst(world)
    const gone = new AbortController()
    const waiting = refusal(world.payments.servable(claimed, gone.signal))
    gone.abort()
    expect((await waiting).code).toBe('payment_pending')
    const other = refusal(world.payments.servable(claimed, never))
    await world.payments.close()
    expect((await other).code).toBe('payment_pending')
  })
})

describe('show', () => {
  test('knows a payment before the read model does, and after', async () => {
    const world = start()
    const { payment } = await take(world, await verified(world, 1), aClaim())
    expect(await world.payments.show(payment.paymentId)).toEqual(payment)
    await world.index.catchUp()
    await take(world, await verified(world, 2), aClaim())
    expect(await world.payments.show(payment.paymentId)).toEqual(payment)
  })

  test.each(['0190a000-0000-7000-8000-0000000000ff', '', '%', '../payer'])('refuses %j', async (id) => {
    const world = start()
    await world.index.catchUp()
    expect(await refusal(world.payments.show(id))).toEqual({ code: 'not_found' })
  })
})

test('without a recipient nothing is offered, taken or verified', async () => {
  const { payments } = start({ payTo: undefined })
  const presented = await verified(start(), 1)
  expect([payments.isOffering, payments.isTaking('direct')]).toEqual([false, false])
  expect(await refusal(payments.verify(presented, 20_000n))).toEqual({ code: 'payments_unavailable' })
})

test('a rail is taken where somebody settles it', () => {
  const { payments } = start({ taking: ['direct'] })
  expect([payments.isTaking('direct'), payments.isTaking('gateway')]).toEqual([true, false])
})
