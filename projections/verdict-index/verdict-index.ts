import type { Revision } from '../../contracts/event.ts'
import type { JsonObject } from '../../contracts/json.ts'
import { seriesName } from '../../contracts/series.ts'
import type { Projection } from '../projection.ts'

/**
 * Where a verdict is in the log. Key: the verdict's id. There is one for every verdict ever recorded, so it
 * holds no more than is needed to read the event itself; its outcome is found by its bar.
 */
export interface VerdictPlace extends JsonObject {
  readonly series: string
  /** In the series' verdict stream. */
  readonly revision: Revision
}

/** Finds a verdict by its id, which the log cannot do. */
export const verdictIndex: Projection<VerdictPlace> = {
  name: 'verdict_index',
  version: 1,
  changes: 'rows',
  events: ['VerdictRecorded'],
  fold(rows, event) {
    if (event.type !== 'VerdictRecorded') return
    rows.put(event.data.verdictId, { series: seriesName(event.data), revision: event.revision })
  },
}
