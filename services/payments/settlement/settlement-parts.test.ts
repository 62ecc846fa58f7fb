import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { gasFor } from './gas.ts'
import { createGasGuard, type GasState } from './gas-guard.ts'
import { createPaymentSchedule } from './payment-schedule.ts'

describe('the schedule of payments', () => {
  test('gives each payment once, not before its time, the earliest first', () => {
    const entries = fc.uniqueArray(fc.tuple(fc.string(), fc.nat(100)), { selector: ([name]) => name })
    fc.assert(
      fc.property(entries, fc.nat(100), fc.integer({ min: 1, max: 5 }), (all, now, most) => {
        const schedule = createPaymentSchedule()
        for (const [name, at] of all) schedule.put(name, at)
        const taken: string[] = []
        for (let some = schedule.take(now, most); some.length > 0; some = schedule.take(now, most)) {
          expect(some.length).toBeLessThanOrEqual(most)
          taken.push(...some)
        }
        const times = new Map(all)
        const at = taken.map((name) => times.get(name) ?? -1)
        expect(at).toEqual(at.toSorted((one, other) => one - other))
        expect(taken.toSorted()).toEqual(
          all.flatMap(([name, time]) => (time <= now ? [name] : [])).toSorted(),
        )
        const left = all.flatMap(([, time]) => (time > now ? [time - now] : []))
        expect(schedule.nextIn(now)).toBe(left.length === 0 ? undefined : Math.min(...left))
      }),
    )
  })

  test('gives those that come later a fifth while others are due, and all that is free', () => {
    const schedule = createPaymentSchedule()
    for (let n = 0; n < 100; n++) schedule.put(`later ${n}`, n, 'later')
    for (let n = 0; n < 12; n++) schedule.put(`first ${n}`, 1_000)
    const kinds = (taken: readonly string[]): string => taken.map(([letter]) => letter).join('')
    expect(kinds(schedule.take(1_000, 10))).toBe('ffffffffll')
    expect(kinds(schedule.take(1_000, 10))).toBe('ffffllllll')
    schedule.put('later 99', 1_000, 'first')
    expect(schedule.take(1_000, 1)).toEqual(['later 99'])
    expect(schedule.take(1_000, 1_000)).toHaveLength(91)
    expect(schedule.nextIn(0)).toBeUndefined()
  })

  test('has a payment at its newest time only', () => {
    const schedule = createPaymentSchedule()
    schedule.put('a', 5)
    schedule.put('a', 9)
    expect(schedule.take(8, 9)).toEqual([])
    schedule.delete('a')
    expect(schedule.nextIn(0)).toBeUndefined()
  })
})

describe('the gas guard', () => {
  const guard = () => {
    const states: GasState[] = []
    const gas = createGasGuard({ maxFeePerGas: 1_000n, onChange: (state) => void states.push(state) })
    return { gas, states }
  }
  const price = { feePerGas: 100n, tipPerGas: 10n }
  const rich = { ...price, balance: 10n ** 18n }

  test('offers the price, and a quarter more than each transaction whose place it takes', () => {
    const { gas } = guard()
    for (let asked = 0; asked < 50; asked++) expect(gas.feesFor(rich, 7, 1)).toEqual(price)
    gas.sent(price, 7)
    expect(gas.feesFor(rich, 7, 1)).toEqual({ feePerGas: 126n, tipPerGas: 13n })
    gas.underbid()
    expect(gas.feesFor(rich, 7, 1)?.feePerGas).toBeGreaterThan(155n)
    expect(gas.feesFor(rich, 8, 1)).toEqual(price)
  })

  test('whatever is sent and refused: never dearer than four times the market, and never silent below the cap', () => {
    const gwei = fc.bigInt({ min: 1n, max: 1_000n })
    const turn = fc.record({ fee: gwei, tip: gwei, isSent: fc.boolean(), isUnderbid: fc.boolean() })
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 60 }), (turns) => {
        const { gas } = guard()
        let highest = 0n
        for (const { fee, tip, isSent, isUnderbid } of turns) {
          const facts = { ...rich, feePerGas: fee, tipPerGas: tip < fee ? tip : fee }
          highest = fee > highest ? fee : highest
          const fees = gas.feesFor(facts, 7, 1)
          if (fees === undefined) throw new Error('nothing is sent')
          expect(fees.feePerGas).toBeGreaterThanOrEqual(fee)
          expect(fees.feePerGas).toBeLessThanOrEqual(4n * highest)
          expect(fees.feePerGas).toBeLessThanOrEqual(1_000n)
          expect(fees.tipPerGas).toBeLessThanOrEqual(fees.feePerGas)
          if (isSent) gas.sent(fees, 7)
          if (isUnderbid) gas.underbid()
        }
      }),
    )
  })

  test('waits where gas costs more than is paid, or the wallet cannot pay for the transaction', () => {
    const { gas, states } = guard()
    expect(gas.feesFor({ ...rich, feePerGas: 1_001n }, 0, 1)).toBeUndefined()
    expect(gas.feesFor({ ...price, balance: gasFor(3) * 100n - 1n }, 0, 3)).toBeUndefined()
    expect(gas.feesFor({ ...price, balance: gasFor(3) * 100n }, 0, 3)).toEqual(price)
    expect(gas.feesFor(rich, 1, 3)).toEqual(price)
    expect(gas.feesFor(rich, 2, 3)).toEqual(price)
    gas.see({ ...price, balance: 0n })
    gas.see(rich)
    expect(states).toEqual(['expensive', 'empty', 'low', 'fine', 'empty', 'fine'])
    expect(gas.balance()).toBe(10n ** 18n)
  })
})
