import { comparePositions, type Position } from '../../../contracts/position.ts'
import { accounts, chats, debits } from '../../../projections/index.ts'
import type { Component } from '../../http/routes/health.ts'
import type { ProjectionHealth } from '../../log/projector/projector.ts'
import { payments } from '../../payments/index.ts'
import { subscriptionsReadModel } from '../../webhooks/index.ts'

/** Read models without which callers are refused altogether. */
const NEEDED_BY_CALLERS: ReadonlySet<string> = new Set(
  [accounts, subscriptionsReadModel, debits, chats, payments].map(({ name }) => name),
)

/**
 * A read model is degraded while it is built, and its routes refuse; it fails the process where callers are refused
 * altogether. One that falls behind later catches up by itself. One that is ahead of the store was folded from another log.
 *
 * @param asked.hasCallers whether anybody but the operator asks this process
 * @param asked.head newest position of the store, where it could be read, later than `health` was
 */
export function projectionComponent(
  { name, version, position, state, detail, hasBeenLive }: ProjectionHealth,
  { hasCallers, head }: { readonly hasCallers: boolean; readonly head?: Position | undefined },
): Component {
  const isMissed = hasCallers && !hasBeenLive && NEEDED_BY_CALLERS.has(name)
  const isAhead = head !== undefined && comparePositions(position, head) > 0
  const hasFailed = isMissed || isAhead || state === 'stopped'
  const place = `${state} at position ${position}${head === undefined || state === 'live' ? '' : ` of ${head}`}`
  const sentence = isMissed ? `${place}; callers are served once it has caught up with the log` : place
  return {
    name: `projection ${name}`,
    isRequired: true,
    state: hasFailed ? 'failed' : state === 'live' ? 'ok' : 'degraded',
    detail: isAhead
      ? `${place}, where the store ends at ${head}: it was folded from another log`
      : (detail ?? sentence),
    more: { version, position, state },
  }
}
