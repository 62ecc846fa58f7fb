import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { openRedisCache } from './redis-cache.ts'

const READ_ONLY = "-READONLY You can't write against a read only replica."
let server: Server
const sockets = new Set<Socket>()
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  server.close()
})

/** One address with two servers behind it: connections of before the failover stay with the one that is a replica now. */
async function openEndpoint(refusal: string) {
  const state = { isOver: false, connections: 0 }
  server = createServer((socket) => {
    const isReplica = !state.isOver
    state.connections += 1
    sockets.add(socket)
    socket.on('data', (data) => {
      for (const [, name] of String(data).matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g)) {
        if (name === 'info') socket.write('$21\r\nredis_version:7.2.0\r\n\r\n')
        else if (!name?.startsWith('eval')) socket.write('+OK\r\n')
        else socket.write(state.isOver && isReplica ? `${refusal}\r\n` : '*2\r\n:1\r\n:1000\r\n')
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`, state }
}

test.each([
  [READ_ONLY],
  [`-ERR Error running script (call to f_0f): @user_script:2: @user_script: 2: ${READ_ONLY}`],
  ["-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."],
  ['-UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)'],
  ['-LOADING Redis is loading the dataset in memory'],
])('a server that became a replica is left for the one behind the same address: %s', async (refusal) => {
  const { url, state } = await openEndpoint(refusal)
  const report = vi.fn<(fault: Error) => void>()
  const cache = await openRedisCache({ url, random: () => 0, report, logId: 'x' })
  await cache.increment('a', { ttlMs: 1_000 })
  state.isOver = true
  await expect(cache.increment('a', { ttlMs: 1_000 })).rejects.toThrow('in Redis at')
  await vi.waitUntil(async () => (await cache.health()).ok, { timeout: 10_000, interval: 10 })
  expect(await cache.increment('a', { ttlMs: 1_000 })).toMatchObject({ count: 1 })
  expect([state.connections, report.mock.calls.length]).toEqual([2, 1])
  await cache.close()
})
