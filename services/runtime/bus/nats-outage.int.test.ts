import { connect } from 'nats'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { natsServers } from '../../../testing/servers/nats-servers.ts'
import type { TestServer } from '../../../testing/servers/test-server.ts'
import type { Bus } from './bus.ts'
import { openNatsBus } from './nats-bus.ts'

const servers = await natsServers({ killable: true })

describe.skipIf(servers.missing !== undefined)(`NATS bus and outages${servers.missing ?? ''}`, () => {
  const logId = `outage-${process.pid}`
  const { signal } = new AbortController()
  let server: TestServer
  let faults: ServiceError[]
  let opened: Bus[]

  const report = (fault: ServiceError): void => void faults.push(fault)
  const open = async (): Promise<Bus> => {
    const bus = await openNatsBus({ url: server.url, logId, now: Date.now, random: Math.random, report })
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

  it('refuses at once while the server is away, says so, and resumes by itself', async () => {
    const bus = await open()
    const served = await open()
    let notified = 0
    served.serve('engine.ask', async (body) => body, { signal })
    served.listen('outage', () => void notified++, { signal })
    await served.health()
    await bus.notify('outage')
    await vi.waitUntil(() => notified === 1, { timeout: 5_000, interval: 2 })

    await server.kill()
    await vi.waitUntil(async () => !(await bus.health()).ok, { timeout: 5_000, interval: 2 })
    const away = { code: 'dependency_unavailable', message: expect.stringContaining('is not connected') }
    await expect(bus.notify('outage')).rejects.toMatchObject(away)
    await expect(bus.request('engine.ask', 1, { timeoutMs: 60_000 })).rejects.toMatchObject(away)
    expect(await bus.health()).toMatchObject({ ok: false, adapter: 'nats' })
    expect(faults.some(({ message }) => message.includes('reconnecting'))).toBe(true)

    await server.restart()
    await vi.waitUntil(async () => (await bus.health()).ok && (await served.health()).ok, { timeout: 15_000 })
    expect((await bus.health()).version).toMatch(/^\d+\.\d+/)
    await bus.notify('outage')
    await vi.waitUntil(() => notified === 2, { timeout: 5_000, interval: 2 })
    const question = { still: 'served' }
    expect(await bus.request('engine.ask', question, { timeoutMs: 5_000 })).toEqual(question)
  })

  it('works with a server that stores nothing, and takes what strangers send for a notification alone', async () => {
    const bus = await open()
    let notified = 0
    bus.listen('foreign', () => void notified++, { signal })
    bus.serve('foreign', async (body) => body, { signal })
    await bus.health()
    const stranger = await connect({ servers: new URL(server.url).host })
    stranger.publish(`signal-service.${logId}.notify.foreign`, 'not JSON')
    stranger.publish(`signal-service.${logId}.notify.foreign.deeper`, '{}')
    stranger.publish(`signal-service.another.notify.foreign`)
    const answer = await stranger.request(`signal-service.${logId}.request.foreign`, 'not JSON')
    await stranger.close()
    expect(answer.string()).toContain('internal_error')
    await bus.health()
    expect(notified).toBe(1)
  })

  it('closes while the server is away', async () => {
    const bus = await open()
    bus.listen('leave', () => undefined, { signal })
    await server.kill()
    await bus.close()
    await expect(bus.notify('leave')).rejects.toMatchObject({ code: 'dependency_unavailable' })
  })

  it('does not open without a server, and tells where it looked, without the credentials', async () => {
    await server.kill()
    const { host } = new URL(server.url)
    const options = { logId, now: Date.now, random: Math.random, report: () => undefined }
    const failure = await openNatsBus({ ...options, url: `nats://user:s3cret@${host}` }).catch(
      (error: unknown) => error,
    )
    expect(failure).toBeInstanceOf(ServiceError)
    expect(failure).toMatchObject({ code: 'dependency_unavailable' })
    expect(String(failure)).toContain(host)
    expect(String(failure)).not.toContain('s3cret')
    const several = openNatsBus({ ...options, url: `nats://${host}, nats://user:s3cret@127.0.0.1:1` })
    await expect(several).rejects.toThrow(`at ${host}, 127.0.0.1:1: `)
    await expect(openNatsBus({ ...options, url: 'http://localhost' })).rejects.toMatchObject({
      code: 'config_invalid',
    })
  })
})
