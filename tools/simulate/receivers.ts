import type { Sender } from '../../services/webhooks/index.ts'
import type { Random } from '../cluster/random.ts'
import type { DeliverySeen } from '../cluster/records.ts'
import { type Host, never } from './network.ts'
import type { SimulatedTime } from './time.ts'

/** Endpoints of subscribers: what came to them, and how they are at the moment. */
export interface Receivers {
  /** The sender of one process: its only way to endpoints. */
  connect(host: Host): Sender
}

/** How endpoints are: shares of all attempts. */
export interface Mood {
  refuses: number
  /** Takes it, and the answer is lost. */
  losesAnswers: number
}

const [QUICK_MS, TIMEOUT_MS] = [40, 15_000]

/** @param seen gets what endpoints took */
export function createReceivers(options: {
  readonly time: SimulatedTime
  readonly random: Random
  readonly mood: Mood
  readonly seen: DeliverySeen[]
}): Receivers {
  const { time, random, mood, seen } = options

  function take(url: string, body: Uint8Array): void {
    const {
      sequence,
      delivery_id: deliveryId,
      event,
      data,
    } = JSON.parse(Buffer.from(body).toString()) as {
      readonly sequence: number
      readonly delivery_id: string
      readonly event: string
      readonly data: { readonly verdict_id: string }
    }
    seen.push({ at: time.now(), path: url, sequence, deliveryId, event, verdictId: data.verdict_id })
  }

  return {
    connect: (host) => ({
      async send({ url, body, mayBegin }, signal) {
        const began = time.now()
        const outcome = (kind: 'answered' | 'connect_failed' | 'timed_out' | 'aborted', status?: number) => ({
          kind,
          status,
          retryAfterMs: undefined,
          durationMs: time.now() - began,
          detail: '',
        })
        await time.sleep(random.between(0.1, QUICK_MS), signal)
        if (host.dead.aborted) return never()
        if (signal?.aborted === true || mayBegin?.() === false) return outcome('aborted')
        time.note(`${host.name} POST ${url}`)
        if (random.chance(mood.refuses))
          return random.chance(0.5) ? outcome('answered', 503) : outcome('connect_failed')
        // On its way, whatever becomes of who sent it.
        await time.sleep(random.between(0.1, QUICK_MS))
        take(url, body)
        if (random.chance(mood.losesAnswers)) {
          await time.sleep(TIMEOUT_MS, signal)
          return host.dead.aborted ? never() : outcome('timed_out')
        }
        await time.sleep(random.between(0.1, QUICK_MS))
        return host.dead.aborted ? never() : outcome('answered', 204)
      },
      close: async () => undefined,
    }),
  }
}
