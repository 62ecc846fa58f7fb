import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { natsServers } from '../../testing/servers/nats-servers.ts'
import { redisServers } from '../../testing/servers/redis-servers.ts'
import type { TestServer } from '../../testing/servers/test-server.ts'
import { serveTools, type ToolHandler } from '../engine/index.ts'
import { remoteHandlerOver } from '../engine/tool-handler/remote-tool-handler.fixture.ts'
import { createRateLimits } from '../http/rate-limits.ts'
import { openNatsBus } from '../runtime/bus/nats-bus.ts'
import { readSettings } from '../runtime/config/read-settings.ts'
import { openPlatform, type Platform } from './adapters/open-platform.ts'
import { startOf } from './start.fixture.ts'

const nats = await natsServers({ killable: false })
const redis = await redisServers({ killable: false })
const missing = nats.missing ?? redis.missing

describe.skipIf(missing !== undefined)(`two deployments on one NATS and one Redis${missing ?? ''}`, () => {
  const ending = new AbortController()
  const { signal } = ending
  const closers: (() => Promise<void>)[] = []
  let directory: string
  let servers: TestServer[]
  let production: Platform
  let staging: Platform

  /** A deployment with a log of its own, as its settings say. */
  const open = (name: string): Promise<Platform> => {
    const environment = { NATS_URL: servers[0]?.url, REDIS_URL: servers[1]?.url, MARKET_SEED: name }
    const settings = readSettings(['--data-dir', join(directory, name)], environment)
    const start = startOf(settings)
    closers.push(start.shutdown.stop)
    return openPlatform(start)
  }

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'two-deployments-'))
    servers = [await nats.start(), await redis.start()]
    production = await open('production')
    staging = await open('staging')
  })
  afterAll(async () => {
    ending.abort()
    for (const close of closers) await close()
    await Promise.all(servers.map((server) => server.stop()))
    rmSync(directory, { recursive: true, force: true })
  })

  test('a question for a tool is answered by an engine of the same log only', async () => {
    const asked: string[] = []
    const handlerOf = (name: string): ToolHandler => ({
      answer: () => {
        asked.push(name)
        throw new Error('asked')
      },
    })
    const request = { coin: 'BTC', timeframe: '1h' }
    const ask = ({ bus }: Platform) => remoteHandlerOver(bus).answer('get_trade_call', request)
    serveTools(production.bus, handlerOf('production'), signal)
    // Its own question comes after its offer to answer, on one connection.
    await expect(ask(production)).rejects.toThrow()
    await expect(ask(staging)).rejects.toMatchObject({ code: 'engine_unavailable' })
    serveTools(staging.bus, handlerOf('staging'), signal)
    for (let tries = 0; tries < 10; tries++) await expect(ask(staging)).rejects.toThrow()
    expect(asked).toEqual(['production', ...Array.from({ length: 10 }, () => 'staging')])
  })

  test('a question about the subscriptions of a shard stays within its log', async () => {
    const heard: unknown[] = []
    const serve = ({ bus }: Platform): void =>
      bus.serve(
        'webhooks.refresh.0',
        (body) => {
          heard.push(body)
          return Promise.resolve(true)
        },
        { signal },
      )
    serve(production)
    const ask = ({ bus }: Platform, of: string) => bus.request('webhooks.refresh.0', of, { timeoutMs: 5_000 })
    expect(await ask(production, 'production')).toBe(true)
    await expect(ask(staging, 'staging')).rejects.toThrow('nobody answers')
    expect(heard).toEqual(['production'])
  })

  test('a notification wakes the listeners of its log only', async () => {
    const woken: string[] = []
    for (const [name, { bus }] of Object.entries({ production, staging })) {
      bus.listen('signals', () => void woken.push(name), { signal })
      await bus.health()
    }
    await production.bus.notify('signals')
    await vi.waitUntil(() => woken.length > 0, { timeout: 5_000, interval: 2 })
    await staging.bus.notify('signals')
    await vi.waitUntil(() => woken.length > 1, { timeout: 5_000, interval: 2 })
    expect(woken).toEqual(['production', 'staging'])
  })

  test('what one counts in Redis is nothing to the other', async () => {
    for (const count of [1, 2])
      expect(await production.cache.increment('count', { ttlMs: 60_000 })).toMatchObject({ count })
    expect(await staging.cache.increment('count', { ttlMs: 60_000 })).toMatchObject({ count: 1 })
  })

  test('an address that used up its rate at one is a stranger to the other', async () => {
    const limitsOf = ({ cache }: Platform) =>
      createRateLimits({ perAddress: 2, perKey: undefined, redis: cache.redis })
    const [first, second] = [limitsOf(production), limitsOf(staging)]
    const address = '192.0.2.7'
    for (let request = 0; request < 5; request++) await first.take({ address })
    expect((await second.take({ address })).isAdmitted).toBe(true)
  })

  test('processes of one log do meet', async () => {
    const { logId } = production
    const url = servers[0]?.url ?? ''
    const report = (): void => undefined
    const other = await openNatsBus({ url, logId, now: Date.now, random: Math.random, report })
    closers.unshift(() => other.close())
    production.bus.serve('engine.echo', (body) => Promise.resolve(body), { signal })
    await production.bus.request('engine.echo', 'its own', { timeoutMs: 5_000 })
    expect(await other.request('engine.echo', 'hello', { timeoutMs: 5_000 })).toBe('hello')
  })
})
