import type { NoticeKind } from '../../../contracts/notice-events.ts'
import type { Subscription } from '../../../projections/index.ts'
import type { AttemptDecision } from './decide-attempt.ts'
import type { DispatchMetrics } from './dispatcher-options.ts'
import type { DueQueue } from './due-queue.ts'
import type { EndpointLog } from './endpoint-log.ts'
import type { Lane } from './lane.ts'
import type { OwnerNotices, Trouble } from './owner-notices.ts'
import { probeAt } from './retry-schedule.ts'

/** What comes due for an endpoint. */
export type DueEntry =
  | { readonly kind: 'retry'; readonly lane: Lane; readonly sequence: number }
  | { readonly kind: 'replay'; readonly lane: Lane; readonly replay: Lane['replays'][number] }
  | { readonly kind: 'seek_replays'; readonly lane: Lane }
  | { readonly kind: 'probe'; readonly lane: Lane; readonly at: number }
  | { readonly kind: 'read'; readonly lane: Lane }
  | { readonly kind: 'notice'; readonly lane: Lane; readonly notice: NoticeKind; readonly since: number }

export interface EndpointCareOptions {
  readonly endpoints: EndpointLog
  readonly notices: OwnerNotices
  readonly due: DueQueue<DueEntry>
  readonly now: () => number
  readonly random: () => number
  readonly metrics: DispatchMetrics | undefined
  /** The stream of a subscription says something new. */
  readonly onSubscription: (lane: Lane, now: Subscription) => void
  /** Takes an endpoint out of the pass. */
  readonly fallBehind: (lane: Lane) => void
}

/** Endpoints that fail: degraded, probed, recovered, disabled, and their owners told. */
export interface EndpointCare {
  /** What is known of an endpoint that fails, when this process begins with it. */
  begin(lane: Lane): Promise<void>
  /** Acts on what an attempt meant for its endpoint; durable when it resolves. */
  act(lane: Lane, change: NonNullable<AttemptDecision['change']>): Promise<void>
  /** @param at when; by itself at the time that follows from its log. Of several the newest counts. */
  scheduleProbe(lane: Lane, at?: number): void
  /** Tells the owner what is due, and schedules what is to be told after that. */
  tell(lane: Lane, kind: NoticeKind, since: number): Promise<void>
}

/** A notice that could not be given is tried again after this. */
const NOTICE_AGAIN_MS = 60_000

export function createEndpointCare(options: EndpointCareOptions): EndpointCare {
  const { endpoints, notices, due, now, random, metrics, onSubscription, fallBehind } = options

  const troubleOf = ({ subscription }: Lane): Trouble | undefined => {
    const { state, stateSince } = subscription
    return state === 'degraded' || state === 'disabled' ? { state, since: stateSince } : undefined
  }

  async function scheduleNotice(lane: Lane): Promise<void> {
    const trouble = troubleOf(lane)
    const next = trouble && (await notices.next(lane.subscription, trouble))
    if (trouble === undefined || next === undefined || lane.isClosed) return
    due.add(next.at, { kind: 'notice', lane, notice: next.kind, since: trouble.since })
  }

  function scheduleProbe(lane: Lane, given?: number): void {
    const { degradedAt = now(), goneAt } = lane.health
    const lastProbeAt = lane.journal?.state.lastAttemptAt ?? degradedAt
    const isGone = goneAt !== undefined
    const at = given ?? probeAt({ degradedAt, lastProbeAt, isGone, random: random() })
    lane.probeAt = at
    due.add(at, { kind: 'probe', lane, at })
  }

  return {
    scheduleProbe,
    async begin(lane) {
      if (lane.subscription.state === 'degraded') {
        const { degradedAt = lane.subscription.stateSince, goneAt } = await endpoints.standing(
          lane.subscription,
        )
        lane.health = { ...lane.health, state: 'degraded', degradedAt, goneAt }
        scheduleProbe(lane)
      }
      await scheduleNotice(lane)
    },
    async act(lane, change) {
      metrics?.endpoint?.(change.kind)
      if (change.kind !== 'recovered') fallBehind(lane)
      onSubscription(lane, await endpoints.say(lane.subscription, change))
      if (change.kind === 'recovered') return
      if (change.kind === 'degraded') scheduleProbe(lane)
      await scheduleNotice(lane)
    },
    async tell(lane, kind, since) {
      const trouble = troubleOf(lane)
      if (trouble?.since !== since || lane.isClosed) return
      try {
        await notices.tell(lane.subscription, trouble, kind)
      } catch (error) {
        due.add(now() + NOTICE_AGAIN_MS, { kind: 'notice', lane, notice: kind, since })
        throw error
      }
      await scheduleNotice(lane)
    },
  }
}
