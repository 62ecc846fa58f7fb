import { Gauge, type Registry } from 'prom-client'
import type { PaymentTotals, Settler } from '../../payments/index.ts'
import { gaugesOf, scrapedIn } from './scraped.ts'

/** Undefined each in a process without the read model or the role. */
export interface MeasuredPayments {
  totals(): PaymentTotals | undefined
  readonly settler: Pick<Settler, 'health'> | undefined
}

const usdc = (value: bigint): number => Number(value) / 1e6

/** Gauges of unsettled claims and of settlement. */
export function gaugePayments(registry: Registry, payments: () => MeasuredPayments | undefined): void {
  const settler = () => payments()?.settler?.health()
  gaugesOf(registry, () => payments()?.totals(), [
    [
      'payments_usdc',
      'USDC of answers that were served: unsettled, where the money is on its way; debt, where it never comes',
      'state',
      ({ unsettled, debt }) => ({ unsettled: usdc(unsettled), debt: usdc(debt) }),
    ],
  ])
  gaugesOf(registry, settler, [
    [
      'payments_open',
      'Payments that are not at their end; unknown, where it cannot be told at the moment whether they are settled',
      'state',
      ({ open, unknown }) => ({ open, unknown }),
    ],
    [
      'payments_oldest_unsettled_seconds',
      'Age of the oldest payment that was served and is not settled',
      'settler',
      ({ oldestOpenMs }) => ({ here: oldestOpenMs / 1_000 }),
    ],
    [
      'settler_gas_ether',
      'What the wallet that settles has left for gas',
      'settler',
      ({ gasBalance }) => (gasBalance === undefined ? {} : { here: Number(gasBalance) / 1e18 }),
    ],
  ])
  scrapedIn(registry)(
    Gauge,
    'payments_oldest_payable_seconds',
    'Age of the oldest payment that could be settled and is not, wherever settling is done; 0 where there is none',
    [],
    () => {
      const { payableSince } = settler() ?? {}
      return [[payableSince === undefined ? 0 : Math.max(0, Date.now() - payableSince) / 1_000]]
    },
  )
}
