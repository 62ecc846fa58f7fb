import type { Hex } from 'viem'
import { expect } from 'vitest'
import { decodeEvent } from '../../../../contracts/events/event-catalogue.ts'
import type { EventStore } from '../../../log/event-store.ts'
import { evolvePayment, type Payment } from '../../payment.ts'
import type { TestChain } from './test-chain.ts'

/**
 * The log and the chain tell the same, to the millionth: what the log says has come is what the receiver has, and
 * what each payer has less.
 *
 * @param funded what each payer was given, by address in lower case
 */
export async function expectBalances(
  store: EventStore,
  chain: Pick<TestChain, 'balanceOf'>,
  { payTo, before, funded }: { payTo: Hex; before: bigint; funded: ReadonlyMap<string, bigint> },
): Promise<void> {
  const all = new Map<string, Payment>()
  for await (const recorded of store.readAll({ filter: { streamPrefixes: ['payment-'] } })) {
    const payment = evolvePayment(all.get(recorded.stream), decodeEvent(recorded))
    if (payment !== undefined) all.set(recorded.stream, payment)
  }
  const paid = [...all.values()].filter(({ state }) => state === 'confirmed' || state === 'final')
  const sum = (some: readonly Payment[]): bigint =>
    some.reduce((total, { value }) => total + BigInt(value), 0n)
  expect((await chain.balanceOf(payTo)) - before, 'what the receiver has').toBe(sum(paid))
  for (const [payer, given] of funded) {
    const spent = sum(paid.filter((payment) => payment.payer === payer))
    expect(await chain.balanceOf(payer as Hex), `what ${payer} has left`).toBe(given - spent)
  }
}
