import type { ServiceError } from '../contracts/errors/errors.ts'
import type { Bus } from '../services/runtime/bus/bus.ts'

/** A bus under the contract suite. */
export interface BusHarness {
  readonly bus: Bus
  /** The bus as another process sees it; the same one where it has no other processes. */
  readonly peer: Bus
  /** Faults reported so far. */
  readonly faults: readonly ServiceError[]
  /** A bus of its own, for tests that close it. */
  open(): Promise<Bus>
  close(): Promise<void>
}
