import { assert } from '../../../contracts/assert.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type GasFacts, gasFor } from './gas.ts'

export type GasState = 'unknown' | 'fine' | 'low' | 'empty' | 'expensive'

/** The gas price that a transaction offers. */
export interface Fees {
  readonly feePerGas: bigint
  readonly tipPerGas: bigint
}

export interface GasGuardOptions {
  /** Wei for a unit of gas, at most. */
  readonly maxFeePerGas: bigint
  /** Not told that all is well before anything was wrong. */
  readonly onChange: (state: GasState, balance: bigint) => void
}

/** Nodes take a replacement that offers a tenth more; a quarter is safe from rounding and from stricter ones. */
const raised = (fee: bigint): bigint => fee + fee / 4n + 1n
/** The highest offer as a multiple of the market price: a higher one needs no replacing, it is mined. */
const MOST_OF_MARKET = 4n

export type GasGuard = ReturnType<typeof createGasGuard>

/** Watches what gas costs and what is left for it. */
export function createGasGuard({ maxFeePerGas, onChange }: GasGuardOptions) {
  let state: GasState = 'unknown'
  let balance: bigint | undefined
  /** The price of gas when it was last asked. */
  let market: Fees = { feePerGas: 0n, tipPerGas: 0n }
  let last: (Fees & { readonly accountNonce: number }) | undefined

  /**
   * The market's price, and a quarter more than what it replaces, up to a bound. At the bound the price stays as it is:
   * the node refuses a transaction that it has one of already, and takes one that it has lost.
   */
  function offerBehind(before: Fees): Fees {
    const bound = min(MOST_OF_MARKET * market.feePerGas, maxFeePerGas)
    const isRaised = raised(before.feePerGas) <= max(bound, market.feePerGas)
    const [feePerGas, tipPerGas] = isRaised
      ? [raised(before.feePerGas), raised(before.tipPerGas)]
      : [before.feePerGas, before.tipPerGas]
    return { feePerGas: max(market.feePerGas, feePerGas), tipPerGas: max(market.tipPerGas, tipPerGas) }
  }

  function change(next: GasState, facts: GasFacts): void {
    balance = facts.balance
    if (next === state) return
    const isNews = state !== 'unknown' || next !== 'fine'
    state = next
    if (isNews) onChange(state, facts.balance)
  }

  function judge(facts: GasFacts, feePerGas: bigint, authorizations: number): GasState {
    if (feePerGas > maxFeePerGas) return 'expensive'
    if (facts.balance < gasFor(authorizations) * feePerGas) return 'empty'
    const reserve = gasFor(1) * BigInt(LIMITS.settlementGasReserve) * facts.feePerGas
    return facts.balance < reserve ? 'low' : 'fine'
  }

  return {
    /** Takes note of what gas costs and what is left, without sending anything. */
    see: (facts: GasFacts) => change(judge(facts, facts.feePerGas, 1), facts),
    /**
     * The offer of the next transaction; undefined if it must wait: the wallet is empty, or gas costs more than the limit.
     * Asking changes nothing: only a transaction that was {@link sent} has to be outbid by its replacement.
     */
    feesFor(facts: GasFacts, accountNonce: number, authorizations: number) {
      market = { feePerGas: facts.feePerGas, tipPerGas: facts.tipPerGas }
      const fees = last?.accountNonce === accountNonce ? offerBehind(last) : market
      const next = judge(facts, fees.feePerGas, authorizations)
      change(next, facts)
      assert(fees.tipPerGas <= fees.feePerGas, 'the tip is part of the fee', fees.tipPerGas)
      return next === 'expensive' || next === 'empty' ? undefined : fees
    },
    /** A transaction was handed to the node, which may have it. */
    sent: (fees: Fees, accountNonce: number) => {
      last = { ...fees, accountNonce }
    },
    /** The node had a transaction of this account nonce already, which offers more. */
    underbid() {
      if (last !== undefined) last = { ...last, ...offerBehind(last) }
    },
    /** Nobody looks any more: what was seen last says nothing about now. */
    rest() {
      state = 'unknown'
    },
    state: () => state,
    /** The wallet's balance at the last look, in wei. */
    balance: () => balance,
  }
}

const max = (one: bigint, other: bigint): bigint => (one > other ? one : other)
const min = (one: bigint, other: bigint): bigint => (one < other ? one : other)
