import { excludeSystemEvents } from '@eventstore/db-client'
import { assert } from '../../../contracts/errors/assert.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import { partitionPoint } from '../../../contracts/infra/partition-point.ts'
import { comparePositions, type Position, START } from '../../../contracts/infra/position.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { createWakeSignal } from '../../runtime/async/wake-signal.ts'
import type { SubscribeOptions, SubscriptionItem } from '../event-store.ts'
import { matchesFilter } from '../follow-log.ts'
import { isTooSlow, readError } from './client-errors.ts'
import { type ReadContext, readEntries, readHead, readNewest, requireSameLog } from './read-events.ts'
import { eventOf, isEntry, type StoredEvent, storedOf, toLogPosition } from './recorded-event.ts'

/** Wait before the first try to resume a broken subscription; it doubles with each try that fails. */
const FIRST_RESUME_DELAY_MS = 100
/** Longest wait between two tries. */
const MAX_RESUME_DELAY_MS = 10_000

export interface FollowContext extends ReadContext {
  readonly closing: AbortSignal
  /** From 0 up to, but not including, 1. */
  readonly random: () => number
  /** Called with each break and the wait before the next try: none if the server only found us too slow. */
  readonly onSubscriptionBreak: (error: ServiceError, resumeInMs: number) => void
  /** Called once, when another log answers. */
  readonly onMismatch: (error: ServiceError) => void
}

/**
 * One subscription for all who follow the log. The newest events are held; a follower that falls behind them reads the
 * log. Positions are always those of events: the server's checkpoints may be places of its own events, or none. The
 * newest event that came also identifies the log. Behind every break it is read again, before anything else is read or
 * appended: if it is not there, another log answers, and everything ends with `store_mismatch`.
 */
// oxlint-disable-next-line max-lines-per-function -- one subscription feeds all readers: opening, failing over and ending change the same state
export function createLogTail(context: FollowContext) {
  const { closing } = context
  const arrived = createWakeSignal()
  let held: StoredEvent[] = []
  let since: Position | undefined
  /** Everything up to this one has come. */
  let newest: StoredEvent | undefined
  /** How often the server said that all has come, and whether it still stands to that. */
  let catchUps = 0
  let isLive = false
  let followers = 0
  let running: AbortController | undefined
  let isVerified = true
  let verifying: Promise<void> | undefined
  let mismatch: ServiceError | undefined
  const reached = (): Position => newest?.position ?? START

  async function verifyNow(): Promise<void> {
    isVerified = true
    try {
      if (newest !== undefined) await requireSameLog(context, newest)
    } catch (error) {
      isVerified = false
      if (isServiceError(error, 'store_mismatch') && mismatch === undefined) {
        mismatch = error
        context.onMismatch(error)
        arrived.notify()
      }
      throw error
    }
  }

  /** Resolves if the log that answers is still the same; one read serves all who wait for it. */
  function verify(): Promise<void> {
    if (mismatch !== undefined) return Promise.reject(mismatch)
    if (isVerified && verifying === undefined) return Promise.resolve()
    verifying ??= verifyNow().finally(() => {
      verifying = undefined
    })
    return verifying
  }

  function take(entry: StoredEvent): void {
    if (comparePositions(entry.position, reached()) <= 0) return
    newest = entry
    held.push(entry)
    // Half at a time: taking away the first of many moves all others.
    if (held.length > LIMITS.tailEvents) {
      since = held.splice(0, LIMITS.tailEvents / 2).at(-1)?.position ?? since
    }
    assert(held.length <= LIMITS.tailEvents, 'the tail of the log is bounded', held.length)
    arrived.notify()
  }

  /** One subscription of the client, until it ends or breaks. */
  async function followServer(signal: AbortSignal, onLive: () => void): Promise<void> {
    isVerified = false
    await verify()
    if (since === undefined) {
      const head = await readNewest(context, signal)
      if (signal.aborted) return
      newest = head
      since = reached()
    }
    await subscribeToAll(context, reached(), signal, { onEvent: take, onLive })
  }

  async function run(signal: AbortSignal): Promise<void> {
    let failures = 0
    const onLive = (): void => {
      failures = 0
      isLive = true
      catchUps += 1
      arrived.notify()
    }
    while (!signal.aborted) {
      const error: unknown = await followServer(signal, onLive).then(
        () => new Error('it ended without an error'),
        (fault: unknown) => fault,
      )
      isLive = false
      isVerified = false
      if (signal.aborted || mismatch !== undefined) return
      const delayMs = isTooSlow(error) && failures === 0 ? 0 : resumeDelayMs(failures, context.random)
      failures += 1
      context.onSubscriptionBreak(readError(error, 'subscription'), delayMs)
      if (delayMs > 0) await context.sleep(delayMs, signal)
    }
  }

  function join(): void {
    followers += 1
    if (running !== undefined) return
    running = new AbortController()
    void run(AbortSignal.any([running.signal, closing]))
  }

  function leave(): void {
    followers -= 1
    if (followers > 0) return
    running?.abort()
    running = undefined
    held = []
    since = undefined
    isLive = false
  }

  /** The log's head, once it can be read. */
  async function headOf(signal: AbortSignal): Promise<Position | undefined> {
    for (let failures = 0; ; failures++) {
      // oxlint-disable-next-line no-unmodified-loop-condition -- the subscription changes it
      while (!isLive && !signal.aborted) {
        if (mismatch !== undefined) throw mismatch
        await arrived.wait(arrived.count, signal)
      }
      if (signal.aborted) return undefined
      try {
        return await readHead(context, signal)
      } catch {
        // The subscription's own break reports why it cannot be read.
        await context.sleep(resumeDelayMs(failures, context.random), signal)
      }
    }
  }

  /** Events behind a position; undefined if not all of them are held any more. */
  function heldBehind(position: Position): readonly StoredEvent[] | undefined {
    if (since === undefined || comparePositions(position, since) < 0) return undefined
    const isBefore = (index: number): boolean =>
      comparePositions((held[index] as StoredEvent).position, position) <= 0
    return held.slice(partitionPoint(held.length, isBefore))
  }

  async function* follow(
    { after, filter }: SubscribeOptions,
    signal: AbortSignal,
  ): AsyncGenerator<SubscriptionItem, void, void> {
    const head = await headOf(signal)
    if (head === undefined) return
    let position = after === 'end' ? head : after
    let reported = position
    let [looked, failures, reportedCatchUps] = [0, 0, 0]
    while (!signal.aborted) {
      if (mismatch !== undefined) throw mismatch
      const seen = arrived.count
      const behind = heldBehind(position)
      try {
        for await (const entry of behind ?? readEntries(context, position, { signal })) {
          if (signal.aborted) return
          assert(comparePositions(entry.position, position) > 0, 'a follower of the log only advances')
          position = entry.position
          const event = matchesFilter(entry, filter) ? eventOf(entry, context.onForeign) : undefined
          if (event === undefined && ++looked % LIMITS.readPageEvents !== 0) continue
          reported = position
          yield event === undefined ? { kind: 'checkpoint', position } : { kind: 'event', event }
        }
        failures = 0
      } catch (error) {
        if (isServiceError(error, 'invalid_request')) throw error
        await context.sleep(resumeDelayMs(failures++, context.random), signal)
        continue
      }
      if (reported !== position) {
        reported = position
        yield { kind: 'checkpoint', position }
      }
      if (behind === undefined || behind.length > 0) continue
      if (isLive && reportedCatchUps !== catchUps && comparePositions(reached(), head) >= 0) {
        reportedCatchUps = catchUps
        yield { kind: 'caught-up', position }
      }
      if (!signal.aborted) await arrived.wait(seen, signal)
    }
  }

  return {
    /**
     * Follows the log from anywhere. Events before the tail are read; it outlives restarts of the server. @throws
     * ServiceError `invalid_request` for a position that is not one of this log; `store_mismatch`
     */
    async *subscribe(options: SubscribeOptions): AsyncGenerator<SubscriptionItem, void, void> {
      if (options.after !== 'end') toLogPosition(options.after)
      const signal = AbortSignal.any([options.signal, closing])
      if (signal.aborted) return
      join()
      try {
        yield* follow(options, signal)
      } finally {
        leave()
      }
    },
    verify,
    /** The log that answers may be another by now. */
    suspect() {
      isVerified = false
    },
    mismatch: () => mismatch,
  }
}

/** One subscription of the client, until it ends or breaks. */
async function subscribeToAll(
  { connection }: FollowContext,
  from: Position,
  signal: AbortSignal,
  { onEvent, onLive }: { readonly onEvent: (entry: StoredEvent) => void; readonly onLive: () => void },
): Promise<void> {
  const { client, replaced } = connection.current()
  const fromPosition = toLogPosition(from)
  const filter = excludeSystemEvents({ maxSearchWindow: LIMITS.readPageEvents, checkpointInterval: 1_000 })
  const subscription = client.subscribeToAll({ fromPosition, filter, ...connection.always })
  const over = Promise.withResolvers<void>()
  /** Events that wait in the client in front of the word that all has come. */
  let before: number | undefined
  const reportLive = (): void => {
    if (before !== 0) return
    before = undefined
    onLive()
  }
  const end = (): void => over.resolve()
  subscription.on('data', ({ event }) => {
    const stored = event && storedOf(event)
    if (stored !== undefined && isEntry(stored)) onEvent(stored)
    if (before !== undefined) before -= 1
    reportLive()
  })
  subscription.on('caughtUp', () => {
    before = subscription.readableLength
    reportLive()
  })
  subscription.on('error', over.reject).on('end', end).on('close', end)
  const ending = AbortSignal.any([signal, replaced])
  ending.addEventListener('abort', end)
  try {
    await over.promise
  } finally {
    ending.removeEventListener('abort', end)
    // It may never have begun.
    subscription.unsubscribe().catch(() => undefined)
  }
}

/** Half of the doubling delay, and a random share of the other half, so that clients do not come back as one. */
function resumeDelayMs(failures: number, random: () => number): number {
  const ceiling = Math.min(FIRST_RESUME_DELAY_MS * 2 ** failures, MAX_RESUME_DELAY_MS)
  return Math.round(ceiling * (0.5 + random() / 2))
}
