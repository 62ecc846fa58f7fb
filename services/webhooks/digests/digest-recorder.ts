import { assert } from '../../../contracts/assert.ts'
import { isServiceError, type ServiceError } from '../../../contracts/errors.ts'
import type { NewEvent, Revision } from '../../../contracts/event.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { ScanCompleted } from '../../../contracts/scan-events.ts'
import { scanStream } from '../../../contracts/streams.ts'
import type { Cadence } from '../../../contracts/subscription.ts'
import type { ScanTradeCallsResponse } from '../../../contracts/tools/scan-trade-calls.ts'
import { RETRY_FOR_CALLER } from '../../log/append-with-retry.ts'
import { executeCommand } from '../../log/command-handler.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { mapConcurrently } from '../../runtime/async/map-concurrently.ts'
import type { FactId } from '../../runtime/ids/fact-id.ts'
import { CADENCE_MS } from '../signals/filter.ts'
import {
  type DueDigest,
  dueDigests,
  scanName,
  type WantedDigest,
  type WantedScan,
  wantedScans,
} from './due-digests.ts'

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
/** How often the clock is looked at; wall time. */
const LOOK_EVERY_MS = 1_000
/** Looks that are left out after a failure: as many again after each further one, up to a minute. */
const FIRST_PAUSE_LOOKS = 5
const LONGEST_PAUSE_LOOKS = 60
const SCANS_AT_ONCE = 4
/** Behind so many events of the others, the newest digest of a cadence is older than its period. */
const EVENTS_LOOKED_AT = 100

/** The end of the stream of an exchange and timeframe, as far as digests matter. */
interface Head {
  readonly revision: Revision | 'no-stream'
  readonly newest: ReadonlyMap<Cadence, number>
}

interface State {
  /** Boundaries that are recorded. */
  done: ReadonlyMap<Cadence, number>
  /** Digests whose last recording failed. */
  failed: readonly DueDigest[]
  failures: number
  looksToSkip: number
  problem: string | undefined
}

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

  function stateOf(name: string): State {
    const nothing = { done: new Map(), failed: [], failures: 0, looksToSkip: 0, problem: undefined }
    const state = states.get(name) ?? nothing
    states.set(name, state)
    return state
  }

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

  /** Looks at one exchange and timeframe, and records what is due. */
  async function look(wantedScan: WantedScan, signal: AbortSignal): Promise<void> {
    const state = stateOf(scanName(wantedScan))
    const due = dueDigests(wantedScan, state.done, clock(), LIMITS.digestSettleMs)
    if (due.length === 0) return
    // A period that has begun since is not to wait for the pauses of the one before.
    if (!due.every((digest) => state.failed.some((one) => isSame(one, digest)))) {
      Object.assign(state, { failures: 0, looksToSkip: 0 })
    }
    if (state.looksToSkip > 0) {
      state.looksToSkip -= 1
      return
    }
    try {
      const newest = await record(wantedScan, signal)
      Object.assign(state, { done: newest, failed: [], failures: 0, problem: undefined })
    } catch (error) {
      if (!isServiceError(error)) throw error
      if (state.problem === undefined) onProblem(wantedScan, error)
      state.problem = `${scanName(wantedScan)}: ${error.message}`
      state.failed = due
      state.failures += 1
      state.looksToSkip = Math.min(FIRST_PAUSE_LOOKS * 2 ** (state.failures - 1), LONGEST_PAUSE_LOOKS)
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
        await mapConcurrently(scans, SCANS_AT_ONCE, (one) => look(one, signal))
        await sleep(LOOK_EVERY_MS, signal)
      }
    },
    /** The faults that keep digests from being recorded at the moment, in words. */
    problems: (): readonly string[] => [...states.values()].flatMap(({ problem }) => problem ?? []),
  }
}

const isSame = (a: DueDigest, b: DueDigest): boolean => a.cadence === b.cadence && a.boundary === b.boundary

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
