import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { readSettings } from '../../runtime/config/read-settings.ts'
import { createCounters, registerGauges } from './gauges.ts'

test('no gauge is named like a counter', async () => {
  const registry = new Registry()
  createCounters(registry)
  registerGauges(registry, {
    settings: readSettings([], {}),
    feed: { venues: () => [], clock: () => 0 },
    projector: undefined,
    engine: undefined,
    payments: { totals: () => undefined, settler: undefined },
    webhooks: { dispatcher: undefined },
  })
  const text = await registry.metrics()
  const gauges = [...text.matchAll(/^# TYPE (\S+) gauge$/gm)].map((match) => match[1] ?? '')
  expect(gauges).toContain('nodejs_active_handles')
  expect(gauges.filter((name) => name.endsWith('_total'))).toEqual([])
})
