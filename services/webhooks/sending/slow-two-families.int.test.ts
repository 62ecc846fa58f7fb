import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, getDefaultAutoSelectFamilyAttemptTimeout, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { createGuardedConnector } from './guarded-agent.ts'
import type { NameAddress } from './resolve-name.ts'

/** While it is stopped, its queue of connections is full: a first SYN is dropped, as on a long way, and the next taken. */
const RECEIVER = `
  const server = require('node:net').createServer(() => {})
  server.listen({ host: '127.0.0.1', port: 0, backlog: 1 }, () => console.log(server.address().port))
`
let receiver: ChildProcess | undefined
const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
  receiver?.kill('SIGCONT')
  receiver?.kill('SIGKILL')
})

async function slowReceiver(): Promise<string> {
  const child = spawn(process.execPath, ['-e', RECEIVER], { stdio: ['ignore', 'pipe', 'inherit'] })
  receiver = child
  const [data] = await once(child.stdout, 'data')
  const port = String(data).trim()
  child.kill('SIGSTOP')
  for (let n = 0; n < 4; n++) sockets.push(connect(Number(port), '127.0.0.1').on('error', () => undefined))
  await sleep(100)
  setTimeout(() => child.kill('SIGCONT'), 600)
  return port
}

async function isReached(addresses: NameAddress[]): Promise<boolean> {
  const port = await slowReceiver()
  const connector = createGuardedConnector({
    guard: { admits: () => true, addressesOf: async () => addresses },
  })
  const target = { hostname: 'receiver.example.org', host: 'receiver.example.org', protocol: 'http:', port }
  return new Promise((done) =>
    connector(target, (_error, connected) => {
      if (connected !== null) sockets.push(connected)
      done(connected !== null)
    }),
  )
}

const A = { address: '127.0.0.1', family: 4 } as const
/** Nothing listens there; without IPv6 the answer is "unreachable" at once. */
const AAAA = { address: '::1', family: 6 } as const

test.each([[[A]], [[AAAA, A]], [[A, AAAA]], [[A, A]], [[A, AAAA, A, AAAA]]])(
  'a receiver that takes a second to connect is reached by %j',
  async (addresses) => expect(await isReached(addresses)).toBe(true),
)

test('every other connection of the process may take seconds for each address, too', async () => {
  await import('../../own-node.js')
  expect(getDefaultAutoSelectFamilyAttemptTimeout()).toBeGreaterThanOrEqual(2_000)
})
