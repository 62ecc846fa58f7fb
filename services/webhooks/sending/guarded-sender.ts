import { setMaxListeners } from 'node:events'
import type { Socket } from 'node:net'
import type { Agent } from 'undici'
import { isServiceError, reasonOf } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import type { EgressGuard } from './egress-guard.ts'
import { createGuardedAgent, type GuardedAgentOptions } from './guarded-agent.ts'
import { HttpAttempt, type HttpOutcome } from './http-attempt.ts'
import type { Sender, SendOutcome, WebhookRequest } from './sender.ts'

export interface GuardedSenderOptions
  extends Pick<Clock, 'now'>,
    Pick<GuardedAgentOptions, 'connectMs' | 'authorities' | 'connectionsPerOrigin'> {
  readonly guard: EgressGuard
  /** Monotonic clock, milliseconds. */
  readonly elapsed?: () => number
  /** Calls once, until what it returns is called. */
  readonly after?: (milliseconds: number, work: () => void) => () => void
  /** Time that an attempt may take in all. */
  readonly attemptMs?: number
  /** Connections that are kept in all. */
  readonly connectionsKept?: number
}

const afterTimeout = (milliseconds: number, work: () => void): (() => void) => {
  const timer = setTimeout(work, milliseconds)
  return () => clearTimeout(timer)
}

/** A client of which so many connections are kept: past that all end with their requests, and another takes its place. */
function createClient(options: GuardedSenderOptions) {
  const { connectionsKept = LIMITS.webhookConnections } = options
  /** By origin, the number of its newest connection. */
  const newest = new RecentMap<string, number>(LIMITS.webhookOrigins)
  const closing = new Set<Promise<void>>()
  let agent: Agent | undefined
  let [connects, open] = [0, 0]

  function retire(): void {
    const closed = agent?.close().finally(() => closing.delete(closed as Promise<void>))
    agent = undefined
    if (closed !== undefined) closing.add(closed)
  }

  function onConnect(origin: string, socket: Socket): void {
    newest.set(origin, ++connects)
    open += 1
    socket.once('close', () => (open -= 1))
    if (open > connectionsKept) retire()
  }

  return {
    agent: (): Agent => (agent ??= createGuardedAgent({ ...options, onConnect })),
    newest: (origin: string): number | undefined => newest.get(origin),
    async close(): Promise<void> {
      retire()
      await Promise.all(closing)
    },
  }
}

/**
 * Sends webhooks over kept connections, to where the guard lets.
 *
 * @example
 * const sender = createGuardedSender({ guard: createEgressGuard({ allowPrivate: false, ownHosts: [] }), now: Date.now })
 * const { kind, status } = await sender.send({ url, headers: sign(secrets, delivery), body })
 */
export function createGuardedSender(options: GuardedSenderOptions): Sender {
  const { guard, now, elapsed = () => performance.now(), after = afterTimeout } = options
  const { attemptMs = LIMITS.webhookAttemptMs } = options
  const client = createClient(options)
  let isClosing = false

  function post(
    { url, body, mayBegin, headers }: WebhookRequest,
    signal: AbortSignal | undefined,
    resolve: (outcome: SendOutcome) => void,
  ): void {
    if (isClosing) return resolve(notSent('aborted', 'this process sends nothing any more'))
    if (signal?.aborted === true) return resolve(notSent('aborted', 'ended before it was sent'))
    const startedMs = elapsed()
    const { origin, path } = guard.check(url)
    let connection: number | undefined
    const attempt = new HttpAttempt({
      now,
      mayBegin,
      isOverKept: () => connection !== undefined && client.newest(origin) === connection,
      dispatch(handler) {
        connection = client.newest(origin)
        const request = { origin, path, method: 'POST', body } as const
        client
          .agent()
          .dispatch({ ...request, headers: { ...headers, 'accept-encoding': 'identity' } }, handler)
      },
      finished(outcome) {
        stop()
        signal?.removeEventListener('abort', cut)
        resolve({ ...outcome, durationMs: Math.round(elapsed() - startedMs) })
      },
    })
    const cut = (): void => attempt.end('aborted', 'ended while it was under way')
    const stop = after(attemptMs, () =>
      attempt.end('timed_out', `no whole answer within ${attemptMs / 1_000} s`),
    )
    if (signal !== undefined) {
      setMaxListeners(0, signal)
      signal.addEventListener('abort', cut)
    }
    attempt.begin()
  }

  return {
    send: (request, signal) =>
      new Promise((resolve) => {
        try {
          post(request, signal, resolve)
        } catch (error) {
          const isRefused = isServiceError(error, 'url_refused')
          const detail = isRefused ? error.message : `the request could not be made: ${reasonOf(error)}`
          resolve(notSent(isRefused ? 'url_refused' : 'connect_failed', detail))
        }
      }),
    async close() {
      isClosing = true
      await client.close()
    },
  }
}

const notSent = (kind: HttpOutcome['kind'], detail: string): SendOutcome => ({
  kind,
  status: undefined,
  retryAfterMs: undefined,
  durationMs: 0,
  detail,
})
