import { afterEach, describe, expect, it, vi } from 'vitest'
import { natsServers } from './nats-servers.ts'
import { redisServers } from './redis-servers.ts'

vi.mock('./container-server.ts', () => ({ hasContainerEngine: () => Promise.resolve(false) }))

describe('where test servers come from', () => {
  afterEach(() => {
    vi.unstubAllEnvs()
  })

  it('borrows the server of the environment, and never ends it', async () => {
    vi.stubEnv('NATS_URL', 'nats://127.0.0.1:1')
    const servers = await natsServers({ killable: false })
    expect(servers.missing).toBeUndefined()
    const server = await servers.start()
    expect(server.url).toBe('nats://127.0.0.1:1')
    await expect(server.kill()).rejects.toThrow('NATS_URL')
    await expect(server.restart()).rejects.toThrow('NATS_URL')
    await server.stop()
  })

  it('does not borrow a server that the test kills', async () => {
    vi.stubEnv('PATH', '')
    vi.stubEnv('REDIS_URL', 'redis://127.0.0.1:1')
    const servers = await redisServers({ killable: true })
    expect(servers.missing).toBe(' (skipped: no redis-server on PATH, no container engine)')
    await expect(servers.start()).rejects.toThrow('no Redis server')
  })

  it('says that the variable is not set where it would have helped', async () => {
    vi.stubEnv('PATH', '')
    vi.stubEnv('REDIS_URL', '')
    const servers = await redisServers({ killable: false })
    expect(servers.missing).toContain('REDIS_URL is not set')
  })
})
