import type { DataProjection } from '../../../../projections/index.ts'

/** A read model that counts events, by as many as its version is. */
export const counter = (
  version: number,
  changes: DataProjection['changes'] = 'rows',
  by = version,
): DataProjection => ({
  name: 'counter',
  version,
  changes,
  events: ['VerdictRecorded'],
  fold(rows, event) {
    const { n } = { n: 0, ...(rows.get('count') as { n: number } | undefined) }
    rows.put('count', { n: n + by })
    rows.put(event.position, { of: version })
  },
})
