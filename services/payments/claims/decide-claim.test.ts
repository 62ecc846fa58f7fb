import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ClaimTerms, decideClaim, type Exposure } from './decide-claim.ts'

const caps = { payer: 1_000_000n, total: 50_000_000n }
const nothing: Exposure = { payer: 0n, debt: 0n, total: 0n }
const usual: ClaimTerms = { rail: 'direct', value: 20_000n, mustSettleFirst: false, balance: undefined }
const served = (isServedFirst: boolean) => ({ kind: 'take', isServedFirst })
const refused = { kind: 'refuse' }

describe('a claim', () => {
  test.each<[string, Partial<Exposure>, Partial<ClaimTerms>, object]>([
    ['of who owes nothing is served first', {}, {}, served(true)],
    ['up to the cap of a payer too', { payer: 980_000n }, {}, served(true)],
    ['past it is settled first', { payer: 980_001n }, {}, served(false)],
    ['of who has a debt is settled first', { debt: 1n }, {}, served(false)],
    ['that must be is settled first', {}, { mustSettleFirst: true }, served(false)],
    ['on the rail of the gateway is settled first', {}, { rail: 'gateway' }, served(false)],
    ['of all that the payer has is served first', { payer: 30_000n }, { balance: 50_000n }, served(true)],
    ['of more than the payer has is settled first', { payer: 30_000n }, { balance: 49_999n }, served(false)],
    ['up to the cap of all is taken', { total: 49_980_000n }, {}, served(true)],
    ['past it is refused', { total: 49_980_001n }, {}, refused],
    [
      'that is settled first adds nothing to it',
      { total: 50_000_000n },
      { mustSettleFirst: true },
      served(false),
    ],
    [
      'that is settled first is refused past it all the same',
      { total: 50_000_001n },
      { mustSettleFirst: true },
      refused,
    ],
    [
      'on the rail of the gateway is no part of it',
      { total: 50_000_001n },
      { rail: 'gateway' },
      served(false),
    ],
    ['of a plan that is dearer than both caps is settled first', {}, { value: 51_000_000n }, served(false)],
  ])('%s', (_, exposure, terms, expected) => {
    expect(decideClaim({ ...nothing, ...exposure }, { ...usual, ...terms }, caps)).toEqual(expected)
  })

  test('is never served first past what a payer is trusted with, however claims follow one another', () => {
    const amount = fc.bigInt({ min: 1n, max: 400_000n })
    const claims = fc.array(fc.record({ value: amount, balance: fc.option(amount, { nil: undefined }) }))
    fc.assert(
      fc.property(claims, fc.bigInt({ min: 0n, max: 1_000_000n }), (all, total) => {
        let owed = 0n
        for (const { value, balance } of all) {
          const exposure = { payer: owed, debt: 0n, total: owed }
          const limits = { payer: 700_000n, total }
          const decision = decideClaim(exposure, { ...usual, value, balance }, limits)
          if (decision.kind === 'refuse' || !decision.isServedFirst) continue
          owed += value
          expect(owed <= limits.payer && owed <= total && (balance === undefined || owed <= balance)).toBe(
            true,
          )
        }
      }),
    )
  })
})
