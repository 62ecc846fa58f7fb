import { join } from 'node:path'
import type { Logger } from 'pino'
import { PROJECTIONS } from '../../projections/index.ts'
import { sleep } from '../platform/async/sleep.ts'
import type { Settings } from '../platform/config/settings.ts'
import { type Projector, startProjector } from '../platform/projector/projector.ts'
import { openRowTables } from '../platform/projector/row-tables.ts'
import type { Platform } from './open-platform.ts'

/** Claims that are to be settled, and subscriptions that are to be served, are found in read models too. */
export const keepsReadModels = ({ ROLES }: Pick<Settings, 'ROLES'>): boolean =>
  ROLES.includes('projector') || ROLES.includes('dispatcher') || ROLES.includes('settler')

/** Folds the log into the read models of this process. */
export function startProjections(platform: Platform, log: Logger): Projector {
  return startProjector({
    store: platform.store,
    tables: openRowTables(join(platform.directory, 'projections.db'), platform.logId),
    projections: PROJECTIONS,
    sleep,
    onProblem: (health) => log.error(health, 'projection has a problem'),
  })
}
