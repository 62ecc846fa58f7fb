import { connect, type JetStreamManager } from 'nats'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { natsServers } from '../test-servers/nats-servers.ts'
import type { TestServer } from '../test-servers/test-server.ts'
import { type Bus, type ConsumeOptions } from './bus.ts'
import { openNatsBus } from './nats-bus.ts'
import { natsNames } from './nats-stream.ts'

const servers = await natsServers({ killable: false })

describe.skipIf(servers.missing !== undefined)(`NATS bus and names that go${servers.missing ?? ''}`, () => {
  const name = `passing-${process.pid}`
  const logId = `forgetting-${process.pid}`
  const { stream } = natsNames(logId)
  const subjects = [`signal.passing-${process.pid}.*`]
  let server: TestServer
  let bus: Bus
  let manager: JetStreamManager
  let close: () => Promise<void>

  beforeAll(async () => {
    server = await servers.start()
    const report = (): void => undefined
    bus = await openNatsBus({ url: server.url, logId, now: Date.now, random: Math.random, report })
    const admin = await connect({ servers: server.url })
    manager = await admin.jetstreamManager()
    close = async () => {
      await Promise.all([bus.close(), admin.close()])
      await server.stop()
    }
  })

  afterAll(() => close())

  /** Durable consumers of the name on the server. */
  async function kept(): Promise<string[]> {
    const found: string[] = []
    for await (const { name: durable } of manager.consumers.list(stream)) {
      if (durable.startsWith(name)) found.push(durable)
    }
    return found
  }

  async function consumeOnce(options: Partial<ConsumeOptions>): Promise<void> {
    const ending = new AbortController()
    const consumption = bus.consume({ name, subjects, ...options, signal: ending.signal })
    await consumption.established
    expect(await kept()).toHaveLength(1)
    ending.abort()
    for await (const message of consumption) message.ack()
  }

  it('keeps a name that may come back, and forgets one that asked for it once nobody consumes', async () => {
    await consumeOnce({})
    const [durable] = await kept()
    expect((await manager.consumers.info(stream, durable ?? '')).config.inactive_threshold ?? 0).toBe(0)

    await consumeOnce({ forgetAfterMs: 500 })
    await vi.waitUntil(async () => (await kept()).length === 0, { timeout: 15_000, interval: 50 })
  })
})
