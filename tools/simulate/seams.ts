import type { EventStore } from '../../services/log/event-store.ts'
import type { LeasesOptions } from '../../services/log/leases/shared-leases.ts'
import type { RowTables } from '../../services/log/projector/row-tables.ts'
import type { Chain } from '../../services/payments/chain/chain.ts'
import type { Sender } from '../../services/webhooks/index.ts'
import type { Random } from '../cluster/random.ts'
import type { StoreSeams } from './simulated-store.ts'

/** The parts of a process, each with a port of its own to the log. */
export type Part =
  | 'accounts'
  | 'deliveries'
  | 'dispatcher'
  | 'engine'
  | 'leases'
  | 'payments'
  | 'projector'
  | 'quota'
  | 'settler'
  | 'subscriptions'

/** Parts that a seam may use. */
export interface Around {
  readonly random: Random
  readonly newId: () => string
  readonly sleep: (milliseconds: number) => Promise<void>
}

/**
 * Puts the parts of a process together over their ports; a planted fault stands between a part and a
 * port. Nothing in the service knows of them: only a simulation hands other ports in.
 */
export interface Seams {
  readonly server?: StoreSeams
  readonly store?: (part: Part, store: EventStore, around: Around) => EventStore
  readonly tables?: (tables: RowTables, around: Around) => RowTables
  readonly leases?: Partial<Pick<LeasesOptions, 'graceMs' | 'ttlMs'>>
  readonly chain?: (chain: Chain) => Chain
  readonly sender?: (sender: Sender, around: Around) => Sender
}
