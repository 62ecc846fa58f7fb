import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../contracts/limits.ts'
import { type ClaimTerms, decideClaim, type Exposure } from './decide-claim.ts'

const caps = { payer: 1_000_000n, total: 50_000_000n }
const nothing: Exposure = { payer: 0n, awaited: 0n, debt: 0n, total: 0n, waiting: 0, waitingOfAll: 0 }
const has = (balance: bigint) => ({ funds: { balance, isAll: true } })
/** As a facilitator says it: enough for one payment. */
const enoughFor = (balance: bigint) => ({ funds: { balance, isAll: false } })
const usual: ClaimTerms = { rail: 'direct', value: 20_000n, mustSettleFirst: false, ...has(10n ** 12n) }
/** So many wait when the room that is left is for payers with none. */
const KEPT = LIMITS.claimsWaiting - Math.floor(LIMITS.claimsWaiting / LIMITS.placesKeptShare)
const served = (isServedFirst: boolean) => ({ kind: 'take', isServedFirst })
const refused = (why: string) => ({ kind: 'refuse', why })

describe('a claim', () => {
  test.each<[string, Partial<Exposure>, Partial<ClaimTerms>, object]>([
    ['of who owes nothing is served first', {}, {}, served(true)],
    ['up to the cap of a payer too', { payer: 980_000n }, {}, served(true)],
    ['past it is settled first', { payer: 980_001n }, {}, served(false)],
    ['of who has a debt is settled first', { debt: 1n }, {}, served(false)],
    ['that must be is settled first', {}, { mustSettleFirst: true }, served(false)],
    ['on the rail of the gateway is settled first', {}, { rail: 'gateway' }, served(false)],
    ['of all that the payer has is served first', { awaited: 30_000n }, has(50_000n), served(true)],
    ['of more than the payer has is refused', { awaited: 30_000n }, has(49_999n), refused('funds')],
    [
      'of more is refused too where it is to be settled first',
      { awaited: 30_000n },
      { ...has(49_999n), mustSettleFirst: true },
      refused('funds'),
    ],
    ['of whom nothing is known is settled first', {}, { funds: undefined }, served(false)],
    ['that a facilitator vouches for is served first', {}, enoughFor(20_000n), served(true)],
    [
      'beside another is settled first, since it vouches for one',
      { awaited: 1n },
      enoughFor(20_000n),
      served(false),
    ],
    ['up to the cap of all is served first', { total: 49_980_000n }, {}, served(true)],
    ['past it is settled first', { total: 49_980_001n }, {}, served(false)],
    ['of a plan that is dearer than both caps is settled first', {}, { value: 51_000_000n }, served(false)],
    [
      'that is served first needs no room among those that wait',
      { waiting: LIMITS.claimsWaitingPerPayer, waitingOfAll: LIMITS.claimsWaiting },
      {},
      served(true),
    ],
    [
      'that would wait is refused where as many of its payer do',
      { waiting: LIMITS.claimsWaitingPerPayer },
      { mustSettleFirst: true },
      refused('payer'),
    ],
    [
      'that would wait is refused where as many of all do',
      { waitingOfAll: LIMITS.claimsWaiting },
      { rail: 'gateway' },
      refused('all'),
    ],
    [
      'of a payer with another that waits is refused where the room is left for others',
      { waiting: 1, waitingOfAll: KEPT },
      { rail: 'gateway' },
      refused('all'),
    ],
    ['of a payer with none is not', { waitingOfAll: KEPT }, { rail: 'gateway' }, served(false)],
  ])('%s', (_, exposure, terms, expected) => {
    expect(decideClaim({ ...nothing, ...exposure }, { ...usual, ...terms }, caps)).toEqual(expected)
  })

  test('is never served first past what a payer is trusted with, nor taken past what it has', () => {
    const amount = fc.bigInt({ min: 1n, max: 400_000n })
    const claim = fc.record({
      value: amount,
      balance: fc.option(amount, { nil: undefined }),
      must: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(claim), fc.bigInt({ min: 0n, max: 1_000_000n }), (all, total) => {
        let [owed, awaited, waiting] = [0n, 0n, 0]
        for (const { value, balance, must } of all) {
          const exposure = { payer: owed, awaited, debt: 0n, total: owed, waiting, waitingOfAll: waiting }
          const limits = { payer: 700_000n, total }
          const funds = balance === undefined ? undefined : { balance, isAll: true }
          const decision = decideClaim(exposure, { ...usual, value, funds, mustSettleFirst: must }, limits)
          if (decision.kind === 'refuse') continue
          awaited += value
          expect(balance === undefined || awaited <= balance).toBe(true)
          if (!decision.isServedFirst) waiting += 1
          expect(waiting).toBeLessThanOrEqual(LIMITS.claimsWaitingPerPayer)
          if (!decision.isServedFirst) continue
          owed += value
          expect(balance !== undefined && owed <= limits.payer && owed <= total).toBe(true)
        }
      }),
    )
  })
})
