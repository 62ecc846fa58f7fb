import type { DeliveryCursor } from '../../../../contracts/delivery-events.ts'
import type { Position } from '../../../../contracts/position.ts'
import { lookThrough } from '../look-through.ts'
import type { Matched } from '../signal.ts'

/** The signals of one subscription in a stretch of the log, numbered from the cursor on. */
export async function* matchRange(
  { store }: { readonly store: Parameters<typeof lookThrough>[0] },
  subscription: Parameters<typeof lookThrough>[1],
  from: DeliveryCursor,
  upTo: Position,
): AsyncGenerator<Matched, void, void> {
  for await (const { matched } of lookThrough(store, subscription, from, upTo)) {
    if (matched !== undefined) yield matched
  }
}
