import type { Exchange } from '../../../contracts/domain/series.ts'
import { CADENCES, type Cadence } from '../../../contracts/domain/subscription.ts'
import type { Timeframe } from '../../../contracts/domain/timeframes.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import { isServiceError, type ServiceError } from '../../../contracts/errors/errors.ts'
import { decodeEvent } from '../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { ScanCompleted } from '../../../contracts/events/scan-events.ts'
import { scanStream } from '../../../contracts/events/streams.ts'
import type { NewEvent, Revision } from '../../../contracts/infra/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { ScanTradeCallsResponse } from '../../../contracts/tools/tool-schemas.ts'
import { RETRY_FOR_CALLER } from '../../log/append-with-retry.ts'
import { executeCommand } from '../../log/command-handler.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { mapConcurrently } from '../../runtime/async/map-concurrently.ts'
import type { FactId } from '../../runtime/ids/fact-id.ts'
import { CADENCE_MS } from '../signals/filter.ts'

/** A digest that somebody is subscribed to. */
export interface WantedDigest {
  readonly exchange: Exchange
  readonly timeframe: Timeframe
  readonly cadence: Cadence
}

/** The wanted cadences of one exchange and timeframe: one scan serves them all. */
interface WantedScan {
  readonly exchange: Exchange
  readonly timeframe: Timeframe
  readonly cadences: readonly Cadence[]
}

/** A digest to record now. */
interface DueDigest {
  readonly cadence: Cadence
  /** Beginning of its period, market time. */
  readonly boundary: number
}

export interface DigestRecorderOptions {
  /** The digests that have subscribers at the moment; polled every second. */
  readonly wanted: () => Iterable<WantedDigest>
  /** Asks the tool `scan_trade_calls`. */
  readonly scan: (request: {
    readonly exchange: WantedDigest['exchange']
    readonly timeframe: WantedDigest['timeframe']
    readonly top_n: number
    readonly limit: number
  }) => Promise<ScanTradeCallsResponse>
  readonly store: EventStore
  readonly idOf: Pick<FactId, 'at'>
  /** Market time, Unix milliseconds. */
  readonly clock: () => number
  /** Ends after some milliseconds of wall time, or at once when the signal is aborted; does not reject. */
  readonly sleep: Clock['sleep']
  /** Told when digests of an exchange and timeframe cannot be made or recorded; once until it works again. */
  readonly onProblem: (scan: Pick<WantedScan, 'exchange' | 'timeframe'>, error: ServiceError) => void
}

const UNKNOWN = { what: 'a digest was recorded', again: 'The next look reads what became of it.' }
/** Interval at which due digests are looked for; wall time. */
const TICK_MS = 1_000
/** Pause after a failure: as long again after each further one, up to a minute; wall time. */
const FIRST_PAUSE_MS = 5_000
const LONGEST_PAUSE_MS = 60_000
const SCANS_AT_ONCE = 4
/** Behind so many events of the others, the newest digest of a cadence is older than its period. */
const EVENTS_LOOKED_AT = 100

/** The end of the stream of an exchange and timeframe, as far as digests matter. */
interface Head {
  readonly revision: Revision | 'no-stream'
  readonly newest: ReadonlyMap<Cadence, number>
}

/** The scan of an exchange and timeframe. */
interface State {
  /** Boundaries that are recorded. */
  done: ReadonlyMap<Cadence, number>
  /** Newest boundary of the digests that could not be recorded. */
  failed: number
  pauseMs: number
  retryAtMs: number
  problem: string | undefined
}

const NEW: State = { done: new Map(), failed: 0, pauseMs: 0, retryAtMs: 0, problem: undefined }

/**
 * Several processes may record the same digests over one log: the first append counts for all.
 *
 * @example
 * const digests = createDigestRecorder({ wanted, scan: (request) => toolHandler.answer('scan_trade_calls', request), store, … })
 * await digests.run(signal)
 */
export function createDigestRecorder(options: DigestRecorderOptions) {
  const { wanted, scan, store, idOf, clock, sleep, onProblem } = options
  const states = new Map<string, State>()
  /** Wall time since the beginning, as far as it was slept. */
  let elapsedMs = 0

  /**
   * Appends what is due and not in the log. It is decided anew for every try, since an append that had happened though
   * it failed, or that of another process, is then met in the log; of several with one revision one can happen.
   */
  async function record(wantedScan: WantedScan, signal: AbortSignal): Promise<Head['newest']> {
    const { exchange, timeframe } = wantedScan
    const stream = scanStream(exchange, timeframe)
    const { result } = await executeCommand<Head['newest'], Head['newest']>(
      { store, policy: RETRY_FOR_CALLER, now: clock, sleep, signal },
      {
        stream,
        async load() {
          const { revision, newest } = await readHead(store, stream)
          return { state: newest, revision }
        },
        async decide(newest) {
          const due = dueDigests(wantedScan, newest, clock(), LIMITS.digestSettleMs)
          if (due.length === 0) return { events: [], result: newest }
          const request = { exchange, timeframe, top_n: LIMITS.scanCoins, limit: LIMITS.scanCoins }
          const scanned = await scan(request)
          const events = due.map((digest) => digestEvent(scanned, digest, idOf))
          return { events, result: new Map([...newest, ...due.map(byCadence)]) }
        },
        unknown: UNKNOWN,
      },
    )
    return result
  }

  /** Records what is due of one exchange and timeframe. */
  async function recordDue(wantedScan: WantedScan, signal: AbortSignal): Promise<void> {
    const name = scanName(wantedScan)
    const state = states.get(name) ?? { ...NEW }
    states.set(name, state)
    const due = dueDigests(wantedScan, state.done, clock(), LIMITS.digestSettleMs)
    const newest = Math.max(0, ...due.map(({ boundary }) => boundary))
    // A period that has begun since does not wait for the pauses of the one before.
    if (newest > state.failed) state.pauseMs = 0
    if (due.length === 0 || (state.pauseMs > 0 && elapsedMs < state.retryAtMs)) return
    try {
      states.set(name, { ...NEW, done: await record(wantedScan, signal) })
    } catch (error) {
      if (!isServiceError(error)) throw error
      if (state.problem === undefined) onProblem(wantedScan, error)
      const pauseMs = Math.min(2 * state.pauseMs || FIRST_PAUSE_MS, LONGEST_PAUSE_MS)
      const problem = `${name}: ${error.message}`
      Object.assign(state, { failed: newest, pauseMs, retryAtMs: elapsedMs + pauseMs, problem })
    }
  }

  return {
    /**
     * Works until the signal. What passes by itself is tried again until the period of the digest ends. Rejects only with
     * faults of the program.
     */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        const scans = wantedScans(wanted())
        const names = new Set(scans.map(scanName))
        for (const name of states.keys()) if (!names.has(name)) states.delete(name)
        await mapConcurrently(scans, SCANS_AT_ONCE, (one) => recordDue(one, signal))
        await sleep(TICK_MS, signal)
        elapsedMs += TICK_MS
      }
    },
    /** The faults that keep digests from being recorded at the moment, in words. */
    problems: (): readonly string[] => [...states.values()].flatMap(({ problem }) => problem ?? []),
  }
}

const byCadence = ({ cadence, boundary }: DueDigest): readonly [Cadence, number] => [cadence, boundary]

async function readHead(store: EventStore, stream: string): Promise<Head> {
  let revision: Head['revision'] = 'no-stream'
  const newest = new Map<Cadence, number>()
  for await (const recorded of store.read(stream, { direction: 'backwards', limit: EVENTS_LOOKED_AT })) {
    if (revision === 'no-stream') revision = recorded.revision
    const event = decodeEvent(recorded)
    if (event.type !== 'ScanCompleted') continue
    const { cadence, boundary } = event.data
    newest.set(cadence, Math.max(boundary, newest.get(cadence) ?? 0))
  }
  return { revision, newest }
}

/**
 * The event of a digest. Its id follows from what it is about, so that two who record the same one make the same id.
 *
 * @param scan answer of `scan_trade_calls` for the exchange and timeframe
 */
function digestEvent(
  scan: ScanTradeCallsResponse,
  { cadence, boundary }: DueDigest,
  idOf: Pick<FactId, 'at'>,
): NewEvent {
  const { exchange, timeframe, scanned, holds } = scan
  assert(boundary % CADENCE_MS[cadence] === 0, 'a digest begins with its period', boundary)
  const scanId = idOf.at(boundary, 'scan', scanName(scan), cadence, String(boundary))
  return newEvent(ScanCompleted, {
    id: scanId,
    data: {
      scanId,
      exchange,
      timeframe,
      cadence,
      boundary,
      scanned,
      holds,
      completedAt: Date.parse(scan.completed_at),
      calls: scan.calls.map(
        ({ bar_close: barClose, valid_until: validUntil, verdict_id: verdictId, ...row }) => ({
          ...row,
          barClose: Date.parse(barClose),
          validUntil: Date.parse(validUntil),
          verdictId,
        }),
      ),
    },
    meta: { correlationId: `digest ${scanName(scan)} ${boundary}`, actor: 'digests' },
  })
}

/** @example scanName({ exchange: 'HL', timeframe: '1h' }) === 'HL.1h' */
const scanName = ({ exchange, timeframe }: Omit<WantedScan, 'cadences'>): string => `${exchange}.${timeframe}`

/** Each exchange and timeframe once, with every cadence that is wanted of it. */
export function wantedScans(wanted: Iterable<WantedDigest>): WantedScan[] {
  const scans = new Map<string, { scan: Omit<WantedScan, 'cadences'>; cadences: Set<Cadence> }>()
  for (const { exchange, timeframe, cadence } of wanted) {
    const scan = { exchange, timeframe }
    const entry = scans.get(scanName(scan)) ?? { scan, cadences: new Set() }
    scans.set(scanName(scan), entry)
    entry.cadences.add(cadence)
  }
  return [...scans.values()].map(({ scan, cadences }) => ({
    ...scan,
    cadences: CADENCES.filter((cadence) => cadences.has(cadence)),
  }))
}

/**
 * Digests whose period has begun and that are not recorded. Of periods that were missed only the running one is left:
 * a digest of an earlier one would tell what nobody can act on any more.
 *
 * @param newest boundary of the newest recorded digest, by cadence
 * @param marketNow Unix milliseconds of market time
 * @param settleMs after a boundary, how long the verdicts of its bars are given to be there
 */
export function dueDigests(
  { cadences }: Pick<WantedScan, 'cadences'>,
  newest: ReadonlyMap<Cadence, number>,
  marketNow: number,
  settleMs: number,
): DueDigest[] {
  return cadences
    .map((cadence) => ({
      cadence,
      boundary: Math.floor((marketNow - settleMs) / CADENCE_MS[cadence]) * CADENCE_MS[cadence],
    }))
    .filter(({ cadence, boundary }) => boundary > (newest.get(cadence) ?? 0))
}
