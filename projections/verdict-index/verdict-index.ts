import { seriesOfVerdictStream } from '../../contracts/events/streams.ts'
import type { Revision } from '../../contracts/infra/event.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import type { RecordedProjection } from '../projection.ts'

/**
 * The place of a verdict in the log. Key: the verdict's id. There is one for every verdict ever recorded, so it holds
 * no more than is needed to read the event itself; its outcome is found by its bar.
 */
export interface VerdictPlace extends JsonObject {
  readonly series: string
  /** In the series' verdict stream. */
  readonly revision: Revision
}

/** Finds a verdict by its id, which the log cannot do. The event that records a verdict has the verdict's id. */
export const verdictIndex: RecordedProjection<VerdictPlace> = {
  name: 'verdict_index',
  version: 2,
  events: ['VerdictRecorded'],
  needs: 'recorded',
  fold(rows, { id, type, stream, revision }) {
    if (type !== 'VerdictRecorded') return
    const series = seriesOfVerdictStream(stream)
    if (series === undefined) throw new TypeError(`a verdict in the stream ${stream}`)
    rows.put(id, { series, revision })
  },
}
