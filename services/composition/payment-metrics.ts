import { Gauge, type Registry } from 'prom-client'
import type { PaymentTotals, RefundHealth, SettlerHealth } from '../payments/index.ts'

/** Read at each scrape; each undefined where this process has no read model of it, or not that role. */
export interface PaymentSources {
  readonly payments: () => PaymentTotals | undefined
  readonly settler: () => SettlerHealth | undefined
  readonly refunds: () => RefundHealth | undefined
}

/** Money that is claimed and not there, and what brings it in. */
export function gaugePayments(registers: Registry[], { payments, settler }: PaymentSources): void {
  const labelNames = ['state'] as const
  new Gauge({
    name: 'payments_usdc',
    help: 'USDC of answers that were served: unsettled, where the money is on its way; debt, where it never comes',
    labelNames,
    registers,
    collect() {
      const totals = payments()
      if (totals === undefined) return
      this.set({ state: 'unsettled' }, Number(totals.unsettled) / 1e6)
      this.set({ state: 'debt' }, Number(totals.debt) / 1e6)
    },
  })
  new Gauge({
    name: 'payments_open',
    help: 'Payments that are not at their end; unknown, where it cannot be told at the moment whether they are settled',
    labelNames,
    registers,
    collect() {
      const health = settler()
      if (health === undefined) return
      this.set({ state: 'open' }, health.open)
      this.set({ state: 'unknown' }, health.unknown)
    },
  })
  new Gauge({
    name: 'payments_oldest_unsettled_seconds',
    help: 'Age of the oldest payment that was served and is not settled',
    labelNames: ['settler'] as const,
    registers,
    collect() {
      const health = settler()
      if (health !== undefined) this.set({ settler: 'here' }, health.oldestOpenMs / 1_000)
    },
  })
  new Gauge({
    name: 'payments_oldest_payable_seconds',
    help: 'Age of the oldest payment that could be settled and is not, wherever settling is done; 0 where there is none',
    registers,
    collect() {
      const health = settler()
      if (health === undefined) return
      const { payableSince } = health
      this.set(payableSince === undefined ? 0 : Math.max(0, Date.now() - payableSince) / 1_000)
    },
  })
  new Gauge({
    name: 'settler_gas_ether',
    help: 'What the wallet that settles has left for gas',
    labelNames: ['settler'] as const,
    registers,
    collect() {
      const balance = settler()?.gasBalance
      if (balance !== undefined) this.set({ settler: 'here' }, Number(balance) / 1e18)
    },
  })
}

/** What is given back by itself, and what is left for it. */
export function gaugeRefunds(registers: Registry[], { refunds }: PaymentSources): void {
  const usdc = (value: bigint): number => Number(value) / 1e6
  new Gauge({
    name: 'refunds_usdc',
    help: 'USDC that was given back by itself so far: as a transfer, or as a credit',
    labelNames: ['form'] as const,
    registers,
    collect() {
      const health = refunds()
      if (health === undefined) return
      this.set({ form: 'transfer' }, usdc(health.transferred))
      this.set({ form: 'credit' }, usdc(health.credited))
    },
  })
  new Gauge({
    name: 'refunds_day_usdc',
    help: 'USDC that refunds have transferred in this UTC day, and may at most',
    labelNames: ['what'] as const,
    registers,
    collect() {
      const health = refunds()
      if (health === undefined) return
      this.set({ what: 'transferred' }, usdc(health.allottedToday))
      this.set({ what: 'cap' }, usdc(health.dailyCap))
    },
  })
  new Gauge({
    name: 'refund_wallet_usdc',
    help: 'What the wallet has that refunds are paid from; nothing where there is none',
    labelNames: ['wallet'] as const,
    registers,
    collect() {
      const { balance, address } = refunds() ?? {}
      if (balance !== undefined && address !== undefined) this.set({ wallet: address }, usdc(balance))
    },
  })
  new Gauge({
    name: 'refunds_oldest_begun_seconds',
    help: 'Age of the oldest refund that was begun and is not done; 0 where there is none',
    labelNames: ['settler'] as const,
    registers,
    collect() {
      const health = refunds()
      if (health !== undefined) this.set({ settler: 'here' }, health.oldestBegunMs / 1_000)
    },
  })
}
