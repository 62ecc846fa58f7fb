import { afterEach, describe, expect, test } from 'vitest'
import { isServiceError } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { paymentFact } from '../../../projections/given-events.fixture.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { JUST_CLAIMED, type Payment, type PaymentRefund } from '../state/payment-state.ts'
import { newId } from '../testing/chain/settlement-world.ts'
import { createAnswerKeeper, decideGiving, decideWithholding } from './answer-keeper.ts'
import { createPaymentLog } from './payment-log.ts'

const NOON = Date.UTC(2026, 10, 23, 12)
const SERVED = {
  ...JUST_CLAIMED,
  accountId: null,
  isServedFirst: true,
  wasServable: true,
  claimedAtMs: NOON,
  product: 'get_trade_call',
}
const of = (change: Partial<Payment>): Payment => ({ ...SERVED, ...change }) as unknown as Payment
const WAITS = { isServedFirst: false, wasServable: false } as const
const DOUBT_OVER = NOON + 2 * LIMITS.answerDoubtMs
const REFUND = { by: 'credit', isDone: false } as unknown as PaymentRefund
const PLAN = { accountId: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55' }

describe('giving an answer', () => {
  test.each<[string, Partial<Payment>, boolean, number, string]>([
    ['to whom it was made for takes nothing', {}, false, NOON, 'give'],
    ['again is recorded, while its first request may yet say that it failed', {}, true, NOON, 'record'],
    ['again is recorded until the last moment of that', {}, true, DOUBT_OVER - 1, 'record'],
    ['again takes nothing later', {}, true, DOUBT_OVER, 'give'],
    [
      'that was paid in is recorded, before it counts',
      { product: 'balance/5', ...WAITS },
      false,
      NOON,
      'record',
    ],
    ['a third time takes nothing', { isGiven: true }, true, NOON, 'give'],
    ['that waited for its money takes nothing', { ...WAITS, state: 'confirmed' }, true, NOON, 'give'],
    ['that was withheld is recorded, ever so late', { withheldAt: NOON }, true, DOUBT_OVER, 'record'],
    ['is refused where it is given back', { withheldAt: NOON, refund: REFUND }, true, NOON, 'refuse'],
    ['is refused where a plan is given back', { ...PLAN, refund: REFUND }, true, NOON, 'refuse'],
    ['of a plan takes nothing', { ...PLAN, withheldAt: NOON }, true, NOON, 'give'],
    ['goes on where the operator has sent money back by hand', { state: 'refunded' }, true, NOON, 'give'],
  ])('%s', (_, change, isReplay, now, expected) => {
    expect(decideGiving(of(change), isReplay, now)).toBe(expected)
  })
})

describe('an answer', () => {
  test.each<[string, Partial<Payment>, string, boolean, boolean]>([
    ['that waits is withheld', WAITS, 'payment_pending', false, true],
    ['that somebody may have is not', { ...WAITS, wasServable: true }, 'payment_pending', false, false],
    ['that leaves at once is, by who made its claim', {}, 'outcome_unknown', true, true],
    ['that leaves at once is not, by who asked again', {}, 'outcome_unknown', false, false],
    ['that was given is not', { isGiven: true }, 'outcome_unknown', true, false],
    ['that was withheld is not once more', { ...WAITS, withheldAt: NOON }, 'payment_pending', false, false],
    ['that is a plan is not: the account has it', { ...WAITS, ...PLAN }, 'payment_pending', false, false],
    ['that is a plan of nobody is', { ...WAITS, ...PLAN }, 'account_unknown', false, true],
  ])('%s', (_, change, code, isMaker, expected) => {
    expect(decideWithholding(of(change), code, isMaker)).toBe(expected)
  })
})

describe('in the log', () => {
  const ending = new AbortController()
  afterEach(() => ending.abort())

  async function world() {
    const store = openMemoryStore({ now: () => NOON })
    const { signal } = ending
    const path = { store, now: () => NOON, sleep: async () => {}, signal }
    const log = createPaymentLog(path)
    const keeper = createAnswerKeeper({ ...path, log, newId, report: () => {} })
    const claim = paymentFact('PaymentClaimed', { isServedFirst: false })
    await store.append(claim.stream, [claim.event], { expected: 'no-stream' })
    const { stream } = claim
    const { paymentId } = claim.event.data as { paymentId: string }
    return {
      keeper,
      payment: async () => (await log.load(stream))?.payment as Payment,
      record: async (type: Parameters<typeof paymentFact>[0], data: JsonObject) => {
        const { event } = paymentFact(type, { paymentId, ...data })
        await store.append(stream, [{ ...event, id: newId() }], { expected: 'any' })
      },
      types: () => Array.fromAsync(store.read(stream), ({ type }) => type),
    }
  }

  test('whichever is first holds, the answer or the refund', async () => {
    const { keeper, payment, types } = await world()
    await keeper.withhold(await payment(), 'payment_pending')
    await keeper.withhold(await payment(), 'payment_pending')
    const before = await payment()
    // Two ask again at the same moment, from two processes: both have the answer, and it is recorded once.
    await Promise.all([keeper.give(before, true), keeper.give(before, true)])
    expect(await types()).toEqual(['PaymentClaimed', 'AnswerWithheld', 'AnswerGiven'])
    const refunded = await world()
    await refunded.keeper.withhold(await refunded.payment(), 'payment_pending')
    const seen = await refunded.payment()
    const begun = { by: 'credit', value: '20000', cause: 'answer_not_given', why: 'no_wallet' } as const
    await refunded.record('RefundBegun', begun)
    // What it looked at was older than the refund.
    await expect(refunded.keeper.give(seen, true)).rejects.toSatisfy((error) =>
      isServiceError(error, 'payment_refunded'),
    )
    expect(await refunded.types()).not.toContain('AnswerGiven')
  })
})
