import { isServiceError, reasonOf } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { createDeadlineSweep, type SweepClock, systemSweepClock } from './deadline-sweep.ts'
import type { EgressGuard } from './egress-guard.ts'
import { Exchange, type ExchangeOutcome } from './exchange.ts'
import { createGuardedConnector, type GuardedConnectorOptions } from './guarded-connector.ts'
import { createOriginPools, type OriginPoolsOptions } from './origin-pools.ts'
import type { Sender, SendOutcome, WebhookRequest } from './sender.ts'

/** Parts of an address that are shorter are words, as `hook` and `v1`, and no secrets. */
const SECRET_CHARACTERS = 8
/** So much of a secret at the end of a text that was cut there. */
const CUT_CHARACTERS = 4
const HIDDEN = '…'

/**
 * A text without what it repeats of the address it was asked at. Many servers answer `Cannot POST /hook/<token>`, and
 * what they answer is kept in the log, where the address itself stands sealed only.
 *
 * @param path path and query, as they were sent
 * @example withoutAddress('no /hook/abcdefgh12 here', '/hook/abcdefgh12') === 'no … here'
 */
export function withoutAddress(text: string, path: string): string {
  let shown = text
  for (const secret of secretsIn(path)) shown = withoutEnd(shown.replaceAll(secret, HIDDEN), secret)
  return shown
}

/** The longest first, since others are parts of it. */
function secretsIn(path: string): string[] {
  const parts = [path, ...path.split(/[/?&=#;]/)]
  const spellings = parts.flatMap((part) => [part, decoded(part)])
  return [...new Set(spellings)]
    .filter(({ length }) => length >= SECRET_CHARACTERS)
    .toSorted((a, b) => b.length - a.length)
}

function withoutEnd(text: string, secret: string): string {
  for (let length = secret.length - 1; length >= CUT_CHARACTERS; length--) {
    if (text.endsWith(secret.slice(0, length))) return `${text.slice(0, -length)}${HIDDEN}`
  }
  return text
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch (error) {
    if (error instanceof URIError) return part
    throw error
  }
}

export interface GuardedSenderOptions
  extends Pick<Clock, 'now'>,
    Omit<OriginPoolsOptions, 'connector'>,
    Pick<GuardedConnectorOptions, 'connectMs' | 'authorities'> {
  readonly guard: EgressGuard
  /** For deadlines and durations. */
  readonly clock?: SweepClock
  /** How long an attempt may take in all. */
  readonly attemptMs?: number
}

/**
 * Sends webhooks over kept connections of HTTP/1.1, as fast as the raw client. No proxy of the environment, no cookies,
 * no redirects, no compression: what an endpoint answers costs it more than us.
 *
 * @example
 * const sender = createGuardedSender({ guard: createEgressGuard({ allowPrivate: false, ownHosts: [] }), now: Date.now })
 * const { kind, status } = await sender.send({ url, headers: sign(secrets, delivery), body })
 */
export function createGuardedSender(options: GuardedSenderOptions): Sender {
  const { guard, now, clock = systemSweepClock, connectMs, attemptMs = LIMITS.webhookAttemptMs } = options
  const connector = createGuardedConnector({ guard, connectMs, authorities: options.authorities, now })
  const pools = createOriginPools({ ...options, connector })
  const sweep = createDeadlineSweep<Exchange>(
    clock,
    attemptMs,
    (exchange) => exchange.end('timed_out', `no whole answer within ${attemptMs / 1_000} s`),
    () => pools.cutFloods(),
  )
  const cuts = new WeakSet<AbortSignal>()
  let isClosing = false

  /** One listener does for all attempts of a shard: one for each costs as much as a signature. */
  function cutBy(signal: AbortSignal): void {
    if (cuts.has(signal)) return
    cuts.add(signal)
    const endAll = (): void => {
      for (const exchange of sweep.items())
        if (exchange.signal === signal) exchange.end('aborted', 'ended while it was under way')
    }
    signal.addEventListener('abort', endAll, { once: true })
  }

  function post(
    { url, body, mayBegin, headers }: WebhookRequest,
    signal: AbortSignal | undefined,
    resolve: (outcome: SendOutcome) => void,
  ): void {
    if (isClosing) return resolve(notSent('aborted', 'this process sends nothing any more'))
    if (signal?.aborted === true) return resolve(notSent('aborted', 'ended before it was sent'))
    const startedAt = clock.now()
    const { origin, path } = guard.check(url)
    // Names and values in turn, which is how the client keeps them.
    const pairs: string[] = []
    for (const name in headers) pairs.push(name, headers[name] ?? '')
    pairs.push('accept-encoding', 'identity')
    if (signal !== undefined) cutBy(signal)
    const connections = pools.of(origin)
    const exchange = new Exchange({
      startedAt,
      now,
      mayBegin,
      signal,
      connections,
      request: { method: 'POST', path, headers: pairs, body },
      finished({ kind, status, retryAfterMs, detail: answer }) {
        sweep.delete(exchange)
        // The detail of a delivery that was taken is not kept, so nothing has to be removed from it.
        const isTaken = status !== undefined && status >= 200 && status < 300
        const detail = isTaken ? answer : withoutAddress(answer, path)
        const durationMs = Math.round(clock.now() - startedAt)
        resolve({ kind, status, retryAfterMs, durationMs, detail })
      },
    })
    sweep.add(exchange)
    connections.take(exchange)
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
      await pools.close()
    },
  }
}

const notSent = (kind: ExchangeOutcome['kind'], detail: string): SendOutcome => ({
  kind,
  status: undefined,
  retryAfterMs: undefined,
  durationMs: 0,
  detail,
})
