import { isServiceError } from '../../../contracts/errors.ts'
import { createAttemptRecorder } from './attempt-recorder.ts'
import type { CatchUp } from './catch-up.ts'
import type { AttemptDecision } from './decide-attempt.ts'
import type { DueQueue } from './due-queue.ts'
import type { DueEntry, EndpointCare } from './endpoint-care.ts'
import { type Lane, type LaneItem, mayBegin, takeNext } from './lane.ts'
import { retryAt } from './retry-schedule.ts'
import { type AttemptContext, type AttemptEnd, runAttempt } from './run-attempt.ts'
import { createSendTurns, type SendTurn } from './send-turns.ts'

export interface AttemptDeskOptions extends Omit<AttemptContext, 'recorder'> {
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
  readonly care: EndpointCare
  readonly catchUp: CatchUp
  readonly due: DueQueue<DueEntry>
  readonly report: (error: unknown) => void
  /** Another process has taken the endpoint over. */
  readonly onLost: (lane: Lane) => void
}

/** Begins attempts whenever there is something to send and room for it, and sees each to its end. */
export interface AttemptDesk {
  /** Attempts that are being sent, and those that are being sent or recorded. */
  readonly sending: number
  readonly underWay: number
  /** Something may be there to send for an endpoint. */
  readonly offer: (lane: Lane) => void
  /** Resolves when the next endpoint has had its turn. */
  readonly nextTurn: () => Promise<void>
  /** Resolves when nothing is under way for these any more. */
  settled(lanes: Iterable<Lane>): Promise<void>
}

/** Attempts that wait to be recorded, beyond which nothing is begun: the log is too slow, or away. */
const MOST_UNDER_WAY = 1_024
/** How soon an endpoint is looked at again when something of ours failed, or its target cannot be had. */
const AGAIN_MS = 5_000
/** An endpoint that is behind is read for when it has fewer than this left. */
const FEW_LEFT = 64

export function createAttemptDesk(options: AttemptDeskOptions): AttemptDesk {
  const { care, catchUp, due, now, random, report, onLost } = options
  const turns = createSendTurns()
  const context: AttemptContext = { ...options, recorder: createAttemptRecorder(options.sleep) }
  /** Attempts that are being sent or recorded, of each endpoint that has any. */
  const busy = new Map<Lane, number>()
  const idle = new Map<Lane, PromiseWithResolvers<void>>()
  let underWay = 0
  let turn: PromiseWithResolvers<void> | undefined

  function offer(lane: Lane): void {
    turns.offer(lane)
    pump()
  }

  function pump(): void {
    while (underWay < MOST_UNDER_WAY) {
      const taken = turns.take()
      if (taken === undefined) break
      const item = takeNext(taken.lane)
      if (item === undefined) turns.done(taken)
      else begin(taken, item)
      turns.offer(taken.lane)
    }
    turn?.resolve()
    turn = undefined
  }

  function begin(taken: SendTurn, item: LaneItem): void {
    const { lane } = taken
    underWay += 1
    if (item.kind !== 'replay') lane.underWay.add(sequenceOf(item))
    busy.set(lane, (busy.get(lane) ?? 0) + 1)
    attend(taken, item).then(() => leave(lane), report)
  }

  function leave(lane: Lane): void {
    const left = (busy.get(lane) ?? 1) - 1
    if (left > 0) {
      busy.set(lane, left)
      return
    }
    busy.delete(lane)
    idle.get(lane)?.resolve()
    idle.delete(lane)
  }

  /** An endpoint that has caught up with what was read for it is read for again. */
  function readOn(lane: Lane): void {
    if (lane.mode !== 'behind' || lane.isReading || lane.queue.length >= FEW_LEFT || !mayBegin(lane)) return
    if (lane.health.state === 'active') catchUp.read(lane).catch(report)
  }

  /** Sees one attempt to its end. Never rejects: what goes wrong is told, and the endpoint goes on. */
  async function attend(taken: SendTurn, item: LaneItem): Promise<void> {
    const { lane } = taken
    let isSent = false
    const onSent = (): void => {
      if (isSent) return
      isSent = true
      turns.done(taken)
      offer(lane)
    }
    try {
      const end = await runAttempt(context, lane, item, onSent)
      lane.underWay.delete(sequenceOf(item))
      const change = follow(lane, item, end)
      if (change !== undefined) await care.act(lane, change)
    } catch (error) {
      lane.underWay.delete(sequenceOf(item))
      if (isServiceError(error, 'lease_lost')) onLost(lane)
      else {
        putOff(lane, item)
        report(error)
      }
    }
    underWay -= 1
    readOn(lane)
    if (isSent) offer(lane)
    else onSent()
  }

  /** What was not recorded is not done: it comes again in a while, from the log. */
  function putOff(lane: Lane, item: LaneItem): void {
    catchUp.fallBehind(lane)
    const again = now() + AGAIN_MS
    lane.pausedUntil = again
    if (item.kind === 'retry') due.add(again, { kind: 'retry', lane, sequence: item.sequence })
    if (item.kind === 'replay') due.add(again, { kind: 'replay', lane, replay: item })
    if (lane.health.state === 'active') due.add(again, { kind: 'read', lane })
    else if (lane.probeAt === undefined) care.scheduleProbe(lane, again)
  }

  /** @returns what is to be said of the endpoint in its log */
  function follow(lane: Lane, item: LaneItem, end: AttemptEnd): AttemptDecision['change'] {
    if (end.kind === 'not_begun') {
      if (mayBegin(lane)) putOff(lane, item)
      // What else there is is read again when it goes on; a replay is looked for only once.
      else if (item.kind === 'replay' && !lane.isClosed) lane.replays.unshift(item)
      return undefined
    }
    if (end.kind === 'needless' || end.decision === undefined) return undefined
    const { change, nextAt, result } = end.decision
    if (item.kind === 'replay') followReplay(lane, item, result)
    else if (nextAt !== null) {
      // While an endpoint is degraded its retries wait for it to recover.
      if (lane.health.state === 'degraded') lane.due.add(sequenceOf(item))
      else due.add(nextAt, { kind: 'retry', lane, sequence: sequenceOf(item) })
    }
    const isToBeProbed = lane.health.state === 'degraded' && lane.underWay.size === 0
    if (change === undefined && isToBeProbed) care.scheduleProbe(lane)
    return change
  }

  function followReplay(
    lane: Lane,
    { item, tries }: Extract<LaneItem, { kind: 'replay' }>,
    result: string,
  ): void {
    if (result !== 'failed') return
    const failed = { attempts: tries + 1, at: now(), retryAfterMs: undefined, random: random() }
    const at = retryAt(failed)
    if (at !== undefined) due.add(at, { kind: 'replay', lane, replay: { item, tries: tries + 1 } })
  }

  return {
    get sending() {
      return turns.underWay
    },
    get underWay() {
      return underWay
    },
    offer,
    nextTurn() {
      turn ??= Promise.withResolvers()
      return turn.promise
    },
    async settled(lanes) {
      for (const lane of lanes) {
        if (!busy.has(lane)) continue
        const known = idle.get(lane) ?? Promise.withResolvers<void>()
        idle.set(lane, known)
        await known.promise
      }
    },
  }
}

const sequenceOf = (item: LaneItem): number => {
  if (item.kind === 'first') return item.matched.sequence
  return item.kind === 'retry' ? item.sequence : item.item.sequence
}
