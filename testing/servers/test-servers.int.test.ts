import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { natsServers } from './nats-servers.ts'
import { redisServers } from './redis-servers.ts'
import type { TestServer, TestServers } from './test-server.ts'

const kinds: readonly (readonly [string, TestServers])[] = [
  ['nats', await natsServers({ killable: true })],
  ['redis', await redisServers({ killable: true })],
]

const accepts = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })

for (const [name, servers] of kinds) {
  describe.skipIf(servers.missing !== undefined)(`${name} test server${servers.missing ?? ''}`, () => {
    let server: TestServer | undefined

    afterEach(() => server?.stop())

    it('answers, is gone after a kill, comes back at the same address, and stops twice', async () => {
      server = await servers.start()
      expect(await accepts(server.url)).toBe(true)
      await server.kill()
      expect(await accepts(server.url)).toBe(false)
      await server.restart()
      expect(await accepts(server.url)).toBe(true)
      await server.stop()
      await server.stop()
      expect(await accepts(server.url)).toBe(false)
    })
  })
}
