import { ServiceError } from '../../contracts/errors.ts'
import { START } from '../../contracts/position.ts'
import { type Projection, trackRecord, verdictIndex } from '../../projections/index.ts'
import { trackRecordReport, verifyVerdict } from '../analyst/index.ts'
import type { ServerOptions } from '../api/index.ts'
import { sleep } from '../platform/async/sleep.ts'
import type { EventStore } from '../platform/event-store/event-store.ts'
import type { Projector } from '../platform/projector/projector.ts'

/** What the HTTP edge answers from the read models of this process. */
export function readModelAnswers(
  store: EventStore,
  projector: Projector | undefined,
): Pick<ServerOptions, 'trackRecord' | 'verify'> {
  const there = (): Projector => {
    if (projector !== undefined) return projector
    throw new ServiceError('store_unavailable', {
      message: 'This process does not keep read models; ask one that has the projector role.',
    })
  }
  const positionOf = ({ name }: Pick<Projection, 'name'>) =>
    there()
      .health()
      .find((health) => health.name === name)?.position ?? START
  return {
    trackRecord(query) {
      const reader = there().reader(trackRecord)
      const source = {
        range: (options: Parameters<typeof reader.range>[0]) => reader.range(options),
        position: () => positionOf(trackRecord),
      }
      return trackRecordReport(source, query)
    },
    async verify(verdictId, signal) {
      const reader = there().reader(verdictIndex)
      const index = { get: (id: string) => reader.get(id), position: () => positionOf(verdictIndex) }
      return await verifyVerdict({ store, index, sleep, signal }, verdictId)
    },
  }
}
