import { connect } from 'nats'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import { natsServers } from '../test-servers/nats-servers.ts'
import type { TestServer } from '../test-servers/test-server.ts'
import type { Bus, BusMessage } from './bus.ts'
import { openNatsBus } from './nats-bus.ts'
import { natsNames } from './nats-stream.ts'

const servers = await natsServers({ killable: true })

describe.skipIf(servers.missing !== undefined)(`NATS bus and outages${servers.missing ?? ''}`, () => {
  const publishTimeoutMs = 1_500
  const logId = `outage-${process.pid}`
  const names = natsNames(logId)
  const unaborted = new AbortController().signal
  let server: TestServer
  let faults: ServiceError[]
  let opened: Bus[]

  const report = (fault: ServiceError): void => void faults.push(fault)
  const open = async (): Promise<Bus> => {
    const { url } = server
    const clocks = { now: Date.now, random: Math.random }
    const bus = await openNatsBus({ url, logId, ...clocks, report, publishTimeoutMs, ackWaitMs: 2_000 })
    opened.push(bus)
    return bus
  }

  beforeEach(async () => {
    faults = []
    opened = []
    server = await servers.start()
  })

  afterEach(async () => {
    await Promise.all(opened.map((bus) => bus.close()))
    await server.stop()
  })

  it('loses nothing it took when the server is killed under load, and repeats only by the same id', async () => {
    const publisher = await open()
    const consumer = await open()
    const total = 3_000
    const acknowledged = new Set<string>()
    const received: BusMessage[] = []
    const ending = new AbortController()
    const consumption = consumer.consume({
      name: 'survivor',
      subjects: ['signal.load.a.*', 'signal.load.b.>'],
      signal: ending.signal,
    })
    await consumption.established

    const publishing = publishAll(publisher, total, acknowledged)
    const crash = (async () => {
      for (const share of [0.25, 0.6]) {
        await vi.waitUntil(() => acknowledged.size > total * share, { timeout: 20_000, interval: 1 })
        await server.kill()
        await server.restart()
      }
    })()
    const consuming = (async () => {
      for await (const message of consumption) {
        received.push(message)
        message.ack()
      }
    })()

    await Promise.all([publishing, crash])
    expect(acknowledged.size).toBe(total)
    const missing = (): string[] => {
      const seen = new Set(received.map(({ id }) => id))
      return [...acknowledged].filter((id) => !seen.has(id))
    }
    await vi.waitUntil(() => missing().length === 0, { timeout: 20_000, interval: 50 })
    ending.abort()
    await consuming

    expect(missing()).toEqual([])
    for (const { id, body } of received) expect(body).toEqual({ id })
    expect(faults.every(({ code }) => code === 'bus_unavailable')).toBe(true)
  })

  it('refuses in time while the server is away, says so, and resumes by itself', async () => {
    const bus = await open()
    const served = await open()
    served.serve('engine.ask', async (body) => body, { signal: unaborted })
    await served.health()
    const consumption = bus.consume({ name: 'waiter', subjects: ['signal.outage.>'], signal: unaborted })
    await consumption.established
    const messages = consumption[Symbol.asyncIterator]()

    await server.kill()
    const unsent = { id: 'during', subject: 'signal.outage.a', body: 1 }
    await expect(bus.publish(unsent)).rejects.toMatchObject({ code: 'bus_unavailable' })
    await expect(bus.publish(unsent)).rejects.toThrow(`within ${publishTimeoutMs} ms`)
    await expect(bus.request('engine.ask', 1, { timeoutMs: 60_000 })).rejects.toMatchObject({
      code: 'bus_unavailable',
    })
    expect(await bus.health()).toMatchObject({ ok: false, adapter: 'nats' })
    expect(faults.some(({ message }) => message.includes('reconnecting'))).toBe(true)

    await server.restart()
    await vi.waitUntil(async () => (await bus.health()).ok && (await served.health()).ok, { timeout: 15_000 })
    expect((await bus.health()).version).toMatch(/^\d+\.\d+/)
    await bus.publish({ id: 'after', subject: 'signal.outage.a', body: 2 })
    const received = new Set<string>()
    while (!received.has('after')) {
      const { value } = await messages.next()
      received.add(value.id)
      value.ack()
    }
    expect(await bus.request('engine.ask', { still: 'served' }, { timeoutMs: 5_000 })).toEqual({
      still: 'served',
    })
  })

  it('takes up again where the server lost its stream', async () => {
    const bus = await open()
    const consumption = bus.consume({ name: 'phoenix', subjects: ['signal.lost.>'], signal: unaborted })
    await consumption.established
    const messages = consumption[Symbol.asyncIterator]()
    await bus.publish({ id: 'before', subject: 'signal.lost.a', body: 1 })
    const first = await messages.next()
    first.value?.ack()

    const operator = await connect({ servers: new URL(server.url).host })
    await (await operator.jetstreamManager()).streams.delete(names.stream)
    await operator.close()

    let published = 0
    const arrival = messages.next()
    const received = arrival.then(() => true)
    while (!(await Promise.race([received, publishOne(bus, `lost-${published++}`)]))) continue
    expect((await arrival).value?.subject).toBe('signal.lost.a')
  })

  it('reports and passes over what others put into the stream', async () => {
    const bus = await open()
    const consumption = bus.consume({ name: 'careful', subjects: ['signal.foreign.>'], signal: unaborted })
    await consumption.established
    const stranger = await connect({ servers: new URL(server.url).host })
    const subject = names.subject('signal.foreign.a')
    await stranger.jetstream().publish(subject, 'not JSON', { msgID: 'x' })
    await stranger.jetstream().publish(subject, '{}')
    await stranger.close()
    await bus.publish({ id: 'ours', subject: 'signal.foreign.a', body: 1 })
    const { value } = await consumption[Symbol.asyncIterator]().next()
    expect(value?.id).toBe('ours')
    expect(faults.map(({ code }) => code)).toEqual(['bus_unavailable', 'bus_unavailable'])
  })

  it('closes while the server is away', async () => {
    const bus = await open()
    const consumption = bus.consume({ name: 'leaver', subjects: ['signal.leave'], signal: unaborted })
    await consumption.established
    const ended = consumption[Symbol.asyncIterator]().next()
    await server.kill()
    const unsent = bus.publish({ id: 'a', subject: 'signal.leave', body: 1 }).catch((error: unknown) => error)
    await bus.close()
    expect((await ended).done).toBe(true)
    expect(await unsent).toMatchObject({ code: 'bus_unavailable' })
  })

  it('does not open without a server, and tells where it looked, without the credentials', async () => {
    await server.kill()
    const { host } = new URL(server.url)
    const options = { logId, now: Date.now, random: Math.random, report: () => undefined }
    const failure = await openNatsBus({ ...options, url: `nats://user:s3cret@${host}` }).catch(
      (error: unknown) => error,
    )
    expect(failure).toBeInstanceOf(ServiceError)
    expect(failure).toMatchObject({ code: 'bus_unavailable' })
    expect(String(failure)).toContain(host)
    expect(String(failure)).not.toContain('s3cret')
    const several = openNatsBus({ ...options, url: `nats://${host}, nats://user:s3cret@127.0.0.1:1` })
    await expect(several).rejects.toThrow(`at ${host}, 127.0.0.1:1: `)
    await expect(openNatsBus({ ...options, url: 'http://localhost' })).rejects.toMatchObject({
      code: 'config_invalid',
    })
  })
})

/** Publishes with 32 at once, each until it is taken, as the relay of the event log does. */
async function publishAll(bus: Bus, total: number, acknowledged: Set<string>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < total) {
      const id = `load-${next++}`
      const subject = `signal.load.${next % 2 === 0 ? 'a' : 'b'}.x`
      while (!acknowledged.has(id)) {
        try {
          await bus.publish({ id, subject, body: { id } })
          acknowledged.add(id)
        } catch (error) {
          if (!isServiceError(error, 'bus_unavailable')) throw error
        }
      }
    }
  }
  await Promise.all(Array.from({ length: 32 }, worker))
}

/** False once it is published. */
async function publishOne(bus: Bus, id: string): Promise<boolean> {
  await bus.publish({ id, subject: 'signal.lost.a', body: id })
  return false
}
