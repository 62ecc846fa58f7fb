import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { type NoticeKind, OwnerNotified } from '../../../contracts/notice-events.ts'
import { noticeStream } from '../../../contracts/streams.ts'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import { appendedOr, appendUntilKnown, LOOKS_AGAIN } from '../../log/append-until-known.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { Subscription } from '../state/subscription-state.ts'

/** Time since the degradation after which each notice is sent. */
const DEGRADED_NOTICES: readonly (readonly [NoticeKind, number])[] = [
  ['degraded_1h', HOUR_MS],
  ['degraded_24h', 24 * HOUR_MS],
  ['degraded_72h', 72 * HOUR_MS],
]

/** The latest few say everything: each time of trouble has four at most. */
const NOTICES_READ = 16

/** Why the owner of a subscription may have to be told something. */
export interface Problem {
  readonly state: 'degraded' | 'disabled'
  /** Since when, Unix milliseconds. */
  readonly since: number
}

/** The next thing to tell, and when. */
export interface NoticeDue {
  readonly kind: NoticeKind
  readonly at: number
}

export type OwnerNotices = ReturnType<typeof createOwnerNotices>

export interface OwnerNoticesOptions extends Pick<Clock, 'now' | 'sleep'> {
  readonly store: EventStore
  readonly newId: () => string
  /** Ends all waiting. */
  readonly signal: AbortSignal
  readonly notify: (subscription: Subscription, kind: NoticeKind) => Promise<void>
}

export function createOwnerNotices(options: OwnerNoticesOptions) {
  const { store, newId, notify } = options
  const path = { ...options, policy: LOOKS_AGAIN }
  async function told(subscriptionId: string, since: number) {
    const kinds = new Set<NoticeKind>()
    let revision: number | 'no-stream' = 'no-stream'
    const reading = { direction: 'backwards', limit: NOTICES_READ } as const
    for await (const recorded of store.read(noticeStream(subscriptionId), reading)) {
      const event = decodeEvent(recorded)
      if (revision === 'no-stream') revision = event.revision
      if (event.type === 'OwnerNotified' && event.data.since === since) kinds.add(event.data.kind)
    }
    return { kinds, revision }
  }

  return {
    /** The next notice for the owner; undefined where all were sent. */
    async next({ subscriptionId }: Subscription, { state, since }: Problem): Promise<NoticeDue | undefined> {
      const { kinds } = await told(subscriptionId, since)
      if (state === 'disabled') return kinds.has('disabled') ? undefined : { kind: 'disabled', at: since }
      const [kind, afterMs] = DEGRADED_NOTICES.find(([one]) => !kinds.has(one)) ?? []
      return kind === undefined || afterMs === undefined ? undefined : { kind, at: since + afterMs }
    },
    /** Sends a notice and then records it: a crash in between sends it again. */
    async notify(subscription: Subscription, { since }: Problem, kind: NoticeKind): Promise<void> {
      const { subscriptionId } = subscription
      const { kinds, revision } = await told(subscriptionId, since)
      if (kinds.has(kind)) return
      await notify(subscription, kind)
      const meta = { correlationId: `subscription ${subscriptionId}`, actor: 'dispatcher' }
      const event = newEvent(OwnerNotified, { id: newId(), data: { subscriptionId, kind, since }, meta })
      const stream = noticeStream(subscriptionId)
      const outcome = await appendUntilKnown(path, { stream, events: [event], expected: revision })
      // Where another event has the place, another process was quicker to tell the same.
      appendedOr(outcome, { what: 'the owner was notified', again: 'The notice is sent again.' })
    },
  }
}
