import { join } from 'node:path'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { PROJECTIONS, type Projection } from '../../../projections/index.ts'
import { type Projector, startProjector as startReadModels } from '../../log/projector/projector.ts'
import { openRowTables } from '../../log/projector/row-tables.ts'
import { payments } from '../../payments/index.ts'
import { transparencyTree } from '../../proof/index.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { withTimeout } from '../../runtime/async/with-timeout.ts'
import { subscriptionsReadModel } from '../../webhooks/index.ts'
import type { Start } from '../shutdown.ts'
import type { Platform } from './open-platform.ts'

const ALL: readonly Projection[] = [...PROJECTIONS, payments, subscriptionsReadModel, transparencyTree]

/**
 * The read models of a process, once every one can be asked, however far behind the log it is. Projectors keep them,
 * and so do dispatchers and settlers, which find their work in them; undefined in other processes. @throws ServiceError
 * `store_unavailable`, with what keeps them from it
 */
export async function openProjector(start: Start, platform: Platform): Promise<Projector | undefined> {
  const { ROLES, STORE_WAIT } = start.settings
  if (!ROLES.some((role) => role === 'projector' || role === 'dispatcher' || role === 'settler'))
    return undefined
  const projector = startProjector(start, platform)
  start.shutdown.onClose(() => projector.close())
  await withTimeout(projector.opened(), STORE_WAIT * 1_000, () => {
    const reasons = new Set(projector.health().flatMap(({ detail }) => detail ?? []))
    return new ServiceError('store_unavailable', {
      message: `The read models could not be opened within ${STORE_WAIT} s: ${[...reasons].join('; ')}`,
      nextStep: 'See that the event store answers, and that its user may read the whole log.',
    })
  })
  return projector
}

export const startProjector = (
  { log }: Pick<Start, 'log'>,
  platform: Platform,
  projections = ALL,
): Projector =>
  startReadModels({
    store: platform.store,
    tables: openRowTables(join(platform.directory, 'projections.db'), platform.logId),
    projections,
    sleep,
    onLost: (event) =>
      log.error(
        event,
        'the log does not have the newest event that read models followed from: it was restored from an older copy, or lost its end; they are built anew',
      ),
    onProblem: (health) => log.error(health, 'projection has a problem'),
    onDamaged: (what) =>
      log.error({ what }, 'a file of read models was damaged; its contents are built anew'),
  })
