import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { ServerKind } from './test-server.ts'

const ANSWER_DEADLINE_MS = 20_000
const PROBE_TIMEOUT_MS = 1_000
const PROBE_INTERVAL_MS = 20

/** A loopback port that nothing listens on at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('the system gave no port')
  return address.port
}

/** Resolves once the server greets on the port; rejects past a deadline. Ends quietly when aborted. */
export async function waitUntilAnswering(
  kind: ServerKind,
  port: number,
  signal?: AbortSignal,
): Promise<void> {
  const deadlineMs = Date.now() + ANSWER_DEADLINE_MS
  for (;;) {
    if (signal?.aborted === true || (await answers(kind, port))) return
    if (Date.now() > deadlineMs) {
      throw new Error(`${kind.name} on port ${port} did not answer within ${ANSWER_DEADLINE_MS} ms`)
    }
    await delay(PROBE_INTERVAL_MS)
  }
}

/** A port that accepts is not yet a server that is ready, so it has to speak. */
function answers(kind: ServerKind, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    let received = ''
    const socket = connect({ port, host: '127.0.0.1' })
    const finish = (result: boolean): void => {
      socket.destroy()
      resolve(result)
    }
    socket.setTimeout(PROBE_TIMEOUT_MS, () => finish(false))
    socket.on('connect', () => socket.write(kind.greeting))
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1')
      if (received.includes(kind.answer)) finish(true)
      else if (received.length >= kind.answer.length) finish(false)
    })
    socket.on('error', () => finish(false))
    socket.on('close', () => finish(false))
  })
}
