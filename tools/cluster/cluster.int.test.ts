import { describe, expect, test } from 'vitest'
import { FOUR, missingServers, runCluster } from './cluster.ts'
import { fewFaults } from './faults.ts'
import { startDouble } from './store-under-test.ts'

describe.skipIf(missingServers !== undefined)(`a cluster${missingServers ?? ''}`, () => {
  test('of four processes lives through five faults, and its log agrees with what callers and endpoints saw', async () => {
    const store = await startDouble()
    const faults = fewFaults({ store })
    const said: string[] = []
    const { found, lines } = await runCluster({
      roles: FOUR,
      store,
      faults,
      rate: 6,
      betweenMs: 2_000,
      random: Math.random,
      say: (line) => said.push(line),
    })
    store.stop()
    expect(found, [...said, ...lines].join('\n')).toEqual([])
  }, 240_000)
})
