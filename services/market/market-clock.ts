import { decodeEvent, MarketClockAnchored } from '../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../contracts/events/event-definition.ts'
import { MARKET_CLOCK_STREAM } from '../../contracts/events/streams.ts'
import type { Position } from '../../contracts/infra/position.ts'
import { RETRY_FOR_CALLER } from '../log/append-with-retry.ts'
import { executeCommand } from '../log/command-handler.ts'
import type { EventStore } from '../log/event-store.ts'
import { sleep } from '../runtime/async/sleep.ts'

/** From `wallTime` on, market time runs `speed` times as fast as wall time. Times are Unix milliseconds. */
export interface ClockAnchor {
  readonly wallTime: number
  readonly marketTime: number
  readonly speed: number
}

/**
 * Market time at an instant of wall time, whole milliseconds. Without an anchor the market runs on the wall
 * clock. Before the anchor, as after a step back of the wall clock, market time waits at the anchor.
 */
export function marketTimeAt(anchor: ClockAnchor | undefined, wallMs: number): number {
  if (anchor === undefined) return wallMs
  return anchor.marketTime + Math.floor(Math.max(0, wallMs - anchor.wallTime) * anchor.speed)
}

/**
 * The anchor to record so that the market runs at `speed` from now on, going on at the very instant the
 * previous anchor leads to, so that market time never jumps. Undefined where nothing changes: the speed is the
 * same, or it is 1 and there was never another.
 */
export function planAnchor(
  previous: ClockAnchor | undefined,
  wallNow: number,
  speed: number,
): ClockAnchor | undefined {
  if (speed === (previous?.speed ?? 1)) return undefined
  return { wallTime: wallNow, marketTime: marketTimeAt(previous, wallNow), speed }
}

/** Longest wait before the pace is looked at again: another process may have set another one. */
const LONGEST_SLEEP_MS = 5_000

/**
 * The clock of a simulated market. The process that computes the market sets its pace; the others go by it.
 *
 * @param options.speed to run at from now on; undefined in a process that only follows
 * @param options.onFailure called when the pace is not followed any more: the clock runs on as it last was
 */
export async function openMarketClock(
  store: EventStore,
  {
    speed,
    newId,
    signal,
    onFailure,
  }: {
    readonly speed: number | undefined
    readonly newId: () => string
    readonly signal: AbortSignal
    readonly onFailure: (error: unknown) => void
  },
) {
  if (speed !== undefined) await anchorClock({ store, newId, signal }, speed)
  // The head comes first: an anchor that is appended in between is read, and followed too.
  const after = await store.head()
  let { anchor } = await readAnchor(store)
  const following = followAnchor(store, after, signal, (next) => {
    anchor = next
  }).catch(onFailure)
  const now = (): number => marketTimeAt(anchor, Date.now())
  return {
    now,
    sleepUntil: async (marketTime: number, until: AbortSignal): Promise<void> => {
      while (now() < marketTime && !until.aborted) {
        const left = (marketTime - now()) / (anchor?.speed ?? 1)
        await sleep(Math.min(LONGEST_SLEEP_MS, Math.max(1, left)), until)
      }
    },
    /** Resolves once the signal has ended the following. */
    ended: (): Promise<void> => following,
  }
}

async function followAnchor(
  store: EventStore,
  after: Position,
  signal: AbortSignal,
  onAnchor: (anchor: ClockAnchor) => void,
): Promise<void> {
  const filter = { streamPrefixes: [MARKET_CLOCK_STREAM] }
  for await (const item of store.subscribe({ after, filter, signal })) {
    if (item.kind !== 'event') continue
    const event = decodeEvent(item.event)
    if (event.type === 'MarketClockAnchored') onAnchor(event.data)
  }
}

/** Market time continues from where it stopped: the log keeps the anchor. */
async function anchorClock(
  { store, newId, signal }: { store: EventStore; newId: () => string; signal: AbortSignal },
  speed: number,
): Promise<void> {
  const path = { store, policy: RETRY_FOR_CALLER, now: Date.now, sleep, signal }
  await executeCommand<ClockAnchor | undefined, void>(path, {
    stream: MARKET_CLOCK_STREAM,
    load: async () => {
      const { anchor: state, revision } = await readAnchor(store)
      return { state, revision }
    },
    decide(anchor) {
      const planned = planAnchor(anchor, Date.now(), speed)
      if (planned === undefined) return { events: [], result: undefined }
      const id = newId()
      const meta = { correlationId: id, actor: 'start' }
      const event = newEvent(MarketClockAnchored, { id, data: { ...planned }, meta })
      return { events: [event], result: undefined }
    },
    unknown: { what: 'the market has its pace', again: 'Start again.' },
  })
}

async function readAnchor(store: EventStore) {
  for await (const recorded of store.read(MARKET_CLOCK_STREAM, { direction: 'backwards', limit: 1 })) {
    const event = decodeEvent(recorded)
    return {
      anchor: event.type === 'MarketClockAnchored' ? event.data : undefined,
      revision: recorded.revision,
    }
  }
  return { anchor: undefined, revision: 'no-stream' as const }
}
