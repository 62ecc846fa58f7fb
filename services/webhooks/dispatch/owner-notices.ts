import { decodeEvent, type FactOf } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type NoticeKind, OwnerNotified } from '../../../contracts/notice-events.ts'
import { noticeStream } from '../../../contracts/streams.ts'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import { appendedOr, appendUntilKnown, LOOKS_AGAIN, type LogUse } from '../../log/append-until-known.ts'
import { changeOf, type Subscription } from '../state/subscription-state.ts'
import type { DispatcherOptions } from './dispatcher-options.ts'

/** Time since the degradation after which each notice is sent. */
const DEGRADED_NOTICES: readonly (readonly [NoticeKind, number])[] = [
  ['degraded_1h', HOUR_MS],
  ['degraded_24h', 24 * HOUR_MS],
  ['degraded_72h', 72 * HOUR_MS],
]

/** How long a process has to send a notice that it began, before another one does. */
const BEGUN_MS = 60_000
/** A change of so long ago is no news: the reminders say what there is to say. */
const NEWS_MS = 24 * HOUR_MS
/** The latest few say everything: an hour of changes, and the reminders of a time of trouble. */
const NOTICES_READ = 4 * (LIMITS.webhookNoticesPerHour + 1 + DEGRADED_NOTICES.length)

/** The next thing to tell, and when. */
export interface NoticeDue {
  readonly kind: NoticeKind
  readonly at: number
}

export type OwnerNotices = ReturnType<typeof createOwnerNotices>

type NoticeFact = FactOf<'OwnerNotified'>['data']

const isReminder = (kind: NoticeKind): boolean => DEGRADED_NOTICES.some(([one]) => one === kind)

export function createOwnerNotices(options: LogUse & Pick<DispatcherOptions, 'notify'>) {
  const { store, newId, notify, now } = options
  const path = { ...options, policy: LOOKS_AGAIN }

  /** The notices about an endpoint, newest first, and those about a change of it. */
  async function told({ subscriptionId, stateSince }: Subscription) {
    const [sent, begun] = [new Set<NoticeKind>(), new Map<NoticeKind, number>()]
    const changes: number[] = []
    let revision: number | 'no-stream' = 'no-stream'
    const reading = { direction: 'backwards', limit: NOTICES_READ } as const
    for await (const recorded of store.read(noticeStream(subscriptionId), reading)) {
      const event = decodeEvent(recorded)
      if (revision === 'no-stream') revision = event.revision
      if (event.type !== 'OwnerNotified') continue
      const { kind, since, stage } = event.data
      const at = Date.parse(event.at)
      if (stage === 'begun' && !isReminder(kind)) changes.push(at)
      if (since !== stateSince) continue
      if (stage === 'sent') sent.add(kind)
      else if (!begun.has(kind)) begun.set(kind, at)
    }
    return { sent, begun, changes, revision }
  }

  /** @returns false where another process was quicker */
  async function record(subscription: Subscription, { kind, stage }: Pick<NoticeFact, 'kind' | 'stage'>) {
    const { subscriptionId, stateSince: since } = subscription
    for (;;) {
      const { sent, begun, revision } = await told(subscription)
      const isTaken = stage === 'begun' && (begun.get(kind) ?? Number.NEGATIVE_INFINITY) + BEGUN_MS > now()
      if (sent.has(kind) || isTaken) return false
      const meta = { correlationId: `subscription ${subscriptionId}`, actor: 'dispatcher' }
      const data = { subscriptionId, kind, since, stage }
      const event = newEvent(OwnerNotified, { id: newId(), data, meta })
      const stream = noticeStream(subscriptionId)
      const outcome = await appendUntilKnown(path, { stream, events: [event], expected: revision })
      const unknown = { what: 'the owner was notified', again: 'The notice is sent again.' }
      if (appendedOr(outcome, unknown) !== undefined) return true
    }
  }

  return {
    /** The next notice for the owner; undefined where all were sent. */
    async next(subscription: Subscription): Promise<NoticeDue | undefined> {
      const change = changeOf(subscription)
      if (change === undefined) return undefined
      const { stateSince: since } = subscription
      const isNews = change === 'disabled' || now() - since < NEWS_MS
      const all = [
        ...(isNews ? [[change, 0] as const] : []),
        ...(change === 'failing' ? DEGRADED_NOTICES : []),
      ]
      if (all.length === 0) return undefined
      const { sent, begun, changes } = await told(subscription)
      const [kind, afterMs] = all.find(([one]) => !sent.has(one)) ?? []
      if (kind === undefined || afterMs === undefined) return undefined
      // One that changes all the time floods nobody: its owner hears of the newest change, once there is room.
      const last = isReminder(kind) ? undefined : changes[LIMITS.webhookNoticesPerHour - 1]
      const freeAt = last === undefined ? 0 : last + HOUR_MS
      const begunAt = begun.get(kind)
      return { kind, at: Math.max(since + afterMs, freeAt, begunAt === undefined ? 0 : begunAt + BEGUN_MS) }
    },
    /** Records that it begins, sends a notice, and records that: a crash in between sends it again, a little later. */
    async notify(subscription: Subscription, kind: NoticeKind): Promise<void> {
      if (!(await record(subscription, { kind, stage: 'begun' }))) return
      await notify(subscription, kind)
      await record(subscription, { kind, stage: 'sent' })
    },
  }
}
