import { expect, test } from 'vitest'
import { createServiceMetrics } from './service-metrics.ts'

test('no gauge is named like a counter', async () => {
  const { registry } = createServiceMetrics({
    market: 'simulated',
    following: { cutOff: 0, broken: 0, foreign: 0 },
    archive: async () => ({ files: 3, missing: 1, problem: 'a file is missing' }),
    projections: () => [],
    dataAgeMs: () => undefined,
    venues: () => [],
    monitored: () => [],
    payments: () => undefined,
    settler: () => undefined,
    refunds: () => undefined,
    dispatcher: () => undefined,
  })
  const text = await registry.metrics()
  const gauges = [...text.matchAll(/^# TYPE (\S+) gauge$/gm)].map((match) => match[1] ?? '')
  expect(gauges).toContain('nodejs_active_handles')
  expect(gauges.filter((name) => name.endsWith('_total'))).toEqual([])
})
