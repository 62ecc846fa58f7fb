import { comparePositions, type Position } from '../../../contracts/position.ts'
import { accounts, chats, debits } from '../../../projections/index.ts'
import type { Component } from '../../http/readiness.ts'
import type { ProjectionHealth } from '../../log/projector/projector.ts'
import { payments } from '../../payments/index.ts'
import { subscriptionsReadModel } from '../../webhooks/index.ts'

/** Read models that are asked only while they follow the log, so that a former version of them is of no use. */
const ASKED_LIVE: ReadonlySet<string> = new Set(
  [accounts, subscriptionsReadModel, debits, chats, payments].map(({ name }) => name),
)

/**
 * A read model that was never whole in this process fails it: callers would be refused, or get too little. One that falls
 * behind later catches up by itself. One that is ahead of the store was folded from another log.
 *
 * @param asked.hasCallers whether anybody but the operator asks this process
 * @param asked.head newest position of the store, where it could be read, later than `health` was
 */
export function projectionComponent(
  health: ProjectionHealth,
  { hasCallers, head }: { readonly hasCallers: boolean; readonly head?: Position | undefined },
): Component {
  const { name, version, position, state, detail, comparison, hasBeenLive, former } = health
  const answers = former !== undefined && !ASKED_LIVE.has(name)
  const isMissed = hasCallers && !hasBeenLive && !answers
  const isAhead = head !== undefined && comparePositions(position, head) > 0
  const hasFailed = isMissed || isAhead || (!answers && (state === 'stopped' || state === 'withheld'))
  const place = `${state} at position ${former?.upTo ?? position}`
  const answering = former && `version ${former.version} answers as of position ${position}`
  const sentence = isMissed ? `${place}; callers are served once it has caught up with the log` : place
  return {
    name: `projection ${name}`,
    isRequired: true,
    state: hasFailed ? 'failed' : state === 'live' ? 'ok' : 'degraded',
    detail: isAhead
      ? `${place}, where the store ends at ${head}: it was folded from another log`
      : [detail ?? sentence, ...(answering === undefined ? [] : [answering])].join('; '),
    more: { version, position, state, ...(comparison && { comparison: { ...comparison } }) },
  }
}
