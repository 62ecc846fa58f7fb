import { afterEach, beforeEach } from 'vitest'
import { createFakeClock, type FakeClock } from '../../../../testing/time/fake-clock.fixture.ts'
import { createEgressGuard, type EgressGuardOptions } from '../egress-guard.ts'
import { createGuardedSender, type GuardedSenderOptions } from '../guarded-sender.ts'
import type { Sender, SendOutcome, WebhookRequest } from '../sender.ts'
import { type HostileServer, type ServerSide, startHostileServer } from './hostile-server.fixture.ts'

export const NOW = Date.UTC(2026, 10, 21, 12)
export const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

/** Servers and senders of one test, with a clock that stands still until it is moved. */
export interface SenderBench {
  readonly clock: FakeClock
  readonly serve: typeof startHostileServer
  /** A server that answers every request of a connection with these bytes. */
  readonly answering: (bytes: string | Buffer) => Promise<HostileServer>
  readonly senderOf: (guard?: Partial<EgressGuardOptions>, options?: Partial<GuardedSenderOptions>) => Sender
  readonly close: () => Promise<void>
}

/** The world of one test. */
export let bench: SenderBench
export function useSenderBench(): void {
  beforeEach(() => {
    bench = createSenderBench()
  })
  afterEach(() => bench.close())
}

function createSenderBench(): SenderBench {
  const servers: HostileServer[] = []
  const senders: Sender[] = []
  const clock = createFakeClock(0)
  const serve: SenderBench['serve'] = async (behave, options) => {
    const server = await startHostileServer(behave, options)
    servers.push(server)
    return server
  }
  return {
    clock,
    serve,
    answering: (bytes) => serve((side) => answerAll(side, bytes)),
    senderOf(guard = {}, options = {}) {
      const sender = createGuardedSender({
        guard: createEgressGuard({ allowPrivate: true, ownHosts: [], ...guard }),
        now: () => NOW,
        elapsed: clock.now,
        after(milliseconds, work) {
          const stop = clock.every(milliseconds, () => {
            stop()
            work()
          })
          return stop
        },
        ...options,
      })
      senders.push(sender)
      return sender
    },
    async close() {
      // Servers first: a sender waits for what is under way.
      await Promise.all(servers.map((server) => server.close()))
      await Promise.all(senders.map((sender) => sender.close()))
    },
  }
}

export async function answerAll({ socket, request }: ServerSide, bytes: string | Buffer): Promise<never> {
  for (;;) {
    await request()
    socket.write(bytes)
  }
}

export const requestTo = (port: number, host = '127.0.0.1', scheme = 'http'): WebhookRequest => ({
  url: `${scheme}://${host}:${port}/hook?a=1`,
  headers: { 'content-type': 'application/json', 'X-Service-Event': 'trade_call' },
  body: Buffer.from('{"event":"trade_call"}'),
})

/** Sends one after the other. */
export async function sendInTurn(
  sender: Sender,
  requests: readonly WebhookRequest[],
): Promise<SendOutcome[]> {
  const outcomes: SendOutcome[] = []
  for (const request of requests) outcomes.push(await sender.send(request))
  return outcomes
}
