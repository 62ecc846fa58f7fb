import { join } from 'node:path'
import { ServiceError } from '../../../contracts/errors.ts'
import { PROJECTIONS, type Projection } from '../../../projections/index.ts'
import { type Projector, startProjector } from '../../log/projector/projector.ts'
import { openRowTables } from '../../log/projector/row-tables.ts'
import { payments } from '../../payments/index.ts'
import { transparencyTree } from '../../proof/index.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { withTimeout } from '../../runtime/async/with-timeout.ts'
import type { Settings } from '../../runtime/config/settings.ts'
import { subscriptionsReadModel } from '../../webhooks/index.ts'
import type { Lifetime } from '../lifetime.ts'
import type { Platform } from './open-platform.ts'

/** Whether a process keeps read models of its own: projectors do, and dispatchers and settlers, which find their work in them. */
export const keepsReadModels = ({ ROLES }: Pick<Settings, 'ROLES'>): boolean =>
  ROLES.includes('projector') || ROLES.includes('dispatcher') || ROLES.includes('settler')

export const ALL_PROJECTIONS: readonly Projection[] = [
  ...PROJECTIONS,
  payments,
  subscriptionsReadModel,
  transparencyTree,
]

export function startProjections(
  { log }: Lifetime,
  platform: Platform,
  projections = ALL_PROJECTIONS,
): Projector {
  return startProjector({
    store: platform.store,
    tables: openRowTables(join(platform.directory, ROWS_FILE), platform.logId),
    projections,
    sleep,
    onLost: (event) =>
      log.error(
        event,
        'the log does not have the newest event that read models followed from: it was restored from an older copy, or lost its end; they are built anew',
      ),
    onProblem: (health) => log.error(health, 'projection has a problem'),
    onDamaged: (what) =>
      log.error({ what }, 'a file of read models was damaged; what was in it is built anew'),
  })
}

export const ROWS_FILE = 'projections.db'

/**
 * Resolves once every read model can be asked, however far behind the log it is.
 *
 * @throws ServiceError `store_unavailable`, with what keeps them from it
 */
export async function awaitReadModels(projector: Projector, waitMs: number): Promise<void> {
  await withTimeout(projector.opened(), waitMs, () => {
    const reasons = new Set(projector.health().flatMap(({ detail }) => detail ?? []))
    return new ServiceError('store_unavailable', {
      message: `The read models could not be opened within ${waitMs / 1_000} s: ${[...reasons].join('; ')}`,
      nextStep: 'See that the event store answers, and that its user may read the whole log.',
    })
  })
}
