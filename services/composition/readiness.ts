import { isoTime } from '../../contracts/domain/iso-time.ts'
import { comparePositions, type Position } from '../../contracts/infra/position.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { accounts, chats, debits } from '../../projections/index.ts'
import { type Component, type Readiness, readinessOf } from '../http/routes/health.ts'
import type { ProjectionHealth } from '../log/projector/projector.ts'
import { payments } from '../payments/index.ts'
import { subscriptionsReadModel } from '../webhooks/index.ts'
import type { Process } from './open-process.ts'

/** The answer of `/readyz`: how each part of a process is. */
export async function readinessOfProcess(process: Process): Promise<Readiness> {
  const { settings, platform, version, projector, engine, remote } = process
  // Before the store: a read model that is ahead of its newest event was folded from another log.
  const models = projector?.health() ?? []
  const { components: adapters, head, runsOn } = await platform.health()
  const hasCallers = settings.ROLES.includes('api')
  const isAwaited = hasCallers && performance.now() - process.openedAt < LIMITS.marketWarmUpMs
  const components = [
    ...adapters,
    ...readModelComponents(models, { hasCallers, head }),
    ...(engine?.health(isAwaited) ?? (hasCallers ? remote.health() : [])),
    ...(process.transparencyLog?.health() ?? []),
    ...process.payments.health(),
    ...process.webhooks.health(),
  ]
  return {
    ...readinessOf(components),
    process: {
      version,
      roles: settings.ROLES,
      log: { id: platform.logId },
      at: isoTime(Date.now()),
      runs_on: runsOn,
    },
  }
}

/** Read models without which callers are refused altogether. */
const NEEDED_BY_CALLERS: ReadonlySet<string> = new Set(
  [accounts, subscriptionsReadModel, debits, chats, payments].map(({ name }) => name),
)

/**
 * A read model is degraded while it is built, and its routes refuse; it fails the process if callers are refused
 * altogether. One that falls behind later catches up by itself. One that is ahead of the store was folded from another
 * log. An event of theirs that the log lacks is reported until the next start. @param context.hasCallers whether
 * anybody but the operator asks this process @param context.head newest position of the store, if it could be read,
 * later than the models were
 */
export function readModelComponents(
  models: readonly ProjectionHealth[],
  { hasCallers, head }: { readonly hasCallers: boolean; readonly head?: Position | undefined },
): Component[] {
  const lost = models.find(({ lostEvent }) => lostEvent !== undefined)?.lostEvent
  const components = models.map(({ name, position, state, detail, hasBeenLive }): Component => {
    const isMissed = hasCallers && !hasBeenLive && NEEDED_BY_CALLERS.has(name)
    const isAhead = head !== undefined && comparePositions(position, head) > 0
    const hasFailed = isMissed || isAhead || state === 'stopped'
    const reached = `${state} at position ${position}${head === undefined || state === 'live' ? '' : ` of ${head}`}`
    const sentence = isMissed ? `${reached}; callers are served once it has caught up with the log` : reached
    return {
      name: `projection ${name}`,
      isRequired: true,
      state: hasFailed ? 'failed' : state === 'live' ? 'ok' : 'degraded',
      detail: isAhead
        ? `${reached}, but the store ends at ${head}: it was folded from another log`
        : (detail ?? sentence),
    }
  })
  if (lost === undefined) return components
  const detail = `event ${lost.id} at position ${lost.position} was followed by the read models and is not in the log any more: it was restored from an older copy, or lost its end. They were built anew`
  return [{ name: 'log', isRequired: false, state: 'degraded', detail }, ...components]
}
