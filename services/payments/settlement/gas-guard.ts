import { LIMITS } from '../../../contracts/limits.ts'
import { type GasFacts, gasFor } from './wallet.ts'

export type GasState = 'unknown' | 'fine' | 'low' | 'empty' | 'expensive'

/** What a transaction may offer for gas. */
export interface Fees {
  readonly feePerGas: bigint
  readonly tipPerGas: bigint
}

/** Watches what gas costs and what is left for it. */
export interface GasGuard {
  /**
   * What the next transaction offers, or undefined where it must wait: the wallet is empty, or gas costs more than
   * is paid. A transaction that takes the place of another must offer more than that one did.
   */
  feesFor(facts: GasFacts, accountNonce: number, authorizations: number): Fees | undefined
  /** Takes note of what gas costs and what is left, without sending anything. */
  see(facts: GasFacts): void
  /** The node had a transaction of this account nonce already, which offers more. */
  underbid(): void
  state(): GasState
  /** Of the wallet when it was last asked, in wei. */
  balance(): bigint | undefined
}

export interface GasGuardOptions {
  /** Wei for a unit of gas, at most. */
  readonly maxFeePerGas: bigint
  /** Not told that all is well before anything was wrong. */
  readonly onChange: (state: GasState, balance: bigint) => void
}

/** Nodes take a replacement that offers a tenth more; a quarter is safe from rounding and from stricter ones. */
const raised = (fee: bigint): bigint => fee + fee / 4n + 1n

export function createGasGuard({ maxFeePerGas, onChange }: GasGuardOptions): GasGuard {
  let state: GasState = 'unknown'
  let balance: bigint | undefined
  let last: (Fees & { readonly accountNonce: number }) | undefined

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
    see: (facts) => change(judge(facts, facts.feePerGas, 1), facts),
    feesFor(facts, accountNonce, authorizations) {
      const before = last?.accountNonce === accountNonce ? last : undefined
      const feePerGas = max(facts.feePerGas, raised(before?.feePerGas ?? -1n))
      const tipPerGas = max(facts.tipPerGas, raised(before?.tipPerGas ?? -1n))
      const next = judge(facts, feePerGas, authorizations)
      change(next, facts)
      if (next === 'expensive' || next === 'empty') return undefined
      last = { accountNonce, feePerGas, tipPerGas }
      return { feePerGas, tipPerGas }
    },
    underbid() {
      if (last === undefined) return
      last = { ...last, feePerGas: raised(last.feePerGas), tipPerGas: raised(last.tipPerGas) }
    },
    state: () => state,
    balance: () => balance,
  }
}

const max = (one: bigint, other: bigint): bigint => (one > other ? one : other)
