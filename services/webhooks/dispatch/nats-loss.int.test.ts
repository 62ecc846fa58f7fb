import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ServiceError } from '../../../contracts/errors/errors.ts'
import { natsServers } from '../../../testing/servers/nats-servers.ts'
import type { TestServer } from '../../../testing/servers/test-server.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { Bus } from '../../runtime/bus/bus.ts'
import { openNatsBus } from '../../runtime/bus/nats-bus.ts'
import { relaySignals } from './signal-relay.ts'
import { DispatchWorld } from './testing/dispatch-world.fixture.ts'

const servers = await natsServers({ killable: true })

describe.skipIf(servers.missing !== undefined)(`a dispatcher over NATS${servers.missing ?? ''}`, () => {
  let server: TestServer
  let buses: Bus[]
  const faults: ServiceError[] = []
  const ending = new AbortController()

  beforeEach(async () => {
    server = await servers.start()
    buses = []
  })
  afterEach(async () => {
    ending.abort()
    await Promise.all(buses.map((bus) => bus.close()))
    await server.stop()
  })

  const open = async (): Promise<Bus> => {
    const report = (fault: ServiceError): void => void faults.push(fault)
    const clocks = { now: Date.now, random: Math.random }
    const bus = await openNatsBus({ url: server.url, logId: 'loss', ...clocks, report })
    buses.push(bus)
    return bus
  }

  test('is woken by it, and sends what NATS lost while it was killed and restarted', async () => {
    const world = new DispatchWorld()
    const { store } = world
    const [publishing, consuming] = [await open(), await open()]
    const errors: unknown[] = []
    const relaying = relaySignals({
      store,
      bus: publishing,
      signal: ending.signal,
      report: (error) => errors.push(error),
    })
    await world.subscribe('all')
    const running = await world.start({
      bus: consuming,
      relays: false,
      sleep,
      now: Date.now,
      elapsed: () => performance.now(),
    })
    const seen = (): number => new Set(world.sequences('all')).size

    await world.verdicts(5)
    await expect.poll(seen, { timeout: 10_000, interval: 10 }).toBe(5)
    await server.kill()
    await world.verdicts(5)
    await expect.poll(seen, { timeout: 10_000, interval: 10 }).toBe(10)
    await server.restart()
    await world.verdicts(5)
    await expect.poll(seen, { timeout: 10_000, interval: 10 }).toBe(15)
    expect(world.sequences('all').toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 15 }, (_, n) => n + 1),
    )
    ending.abort()
    await Promise.all([running.stop(), relaying])
    expect(world.errors).toEqual([])
  }, 40_000)
})
