import type { Signal } from '../signals/signal.ts'
import { windowClosesAt } from '../signals/signal-window.ts'
import type { Deliveries } from './delivery-state.ts'

/** Whether an endpoint ever took a delivery: pulling makes up for pushes, it does not stand for them. */
export const hasAccepted = ({ lastSuccessAt }: Pick<Deliveries, 'lastSuccessAt'>): boolean =>
  lastSuccessAt !== null

/**
 * Whether the owner of a subscription may read a signal that was tried. Of a window that has closed everybody may. Of
 * one that is open, which callers pay for by the call, whose endpoint took a delivery before.
 *
 * @param marketNow Unix milliseconds
 */
export const mayPull = (
  signal: Signal,
  state: Pick<Deliveries, 'lastSuccessAt'>,
  marketNow: number,
): boolean => windowClosesAt(signal) <= marketNow || hasAccepted(state)
