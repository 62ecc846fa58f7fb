import { expect, test } from 'vitest'
import { readSettings } from '../../runtime/config/read-settings.ts'
import { createServiceMetrics } from './service-metrics.ts'

test('no gauge is named like a counter', async () => {
  const { registry } = createServiceMetrics({
    settings: readSettings([], {}),
    feed: { venues: () => [], clock: () => 0 } as never,
    projector: undefined,
    running: {},
  })
  const text = await registry.metrics()
  const gauges = [...text.matchAll(/^# TYPE (\S+) gauge$/gm)].map((match) => match[1] ?? '')
  expect(gauges).toContain('nodejs_active_handles')
  expect(gauges.filter((name) => name.endsWith('_total'))).toEqual([])
})
