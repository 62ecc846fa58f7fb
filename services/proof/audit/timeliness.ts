import { isoTime } from '../../../contracts/iso-time.ts'
import type { Outcome } from '../../../contracts/outcome.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { HOUR_MS, timeframeMs } from '../../../contracts/timeframes.ts'
import { inTimeUntil, isLate, type Verdict } from '../../../contracts/verdict.ts'
import { wilsonInterval } from '../../../contracts/wilson-interval.ts'
import type { AuditState } from './audited-history.ts'
import type { Findings } from './finding.ts'

/** How far the verdicts of a series stand after their bars, by the newest market time that the log spoke of before. */
export interface Delays {
  readonly series: string
  readonly largestMs: number
  readonly p99Ms: number
}

/**
 * From its mark to its place in the log a verdict takes as long as an append is repeated unchanged. Meanwhile only short bars
 * close.
 */
const APPEND_MS = 2 * 60_000
const SHORT_BAR_MS = 15 * 60_000
const appendMs = ({ timeframe }: Series): number => (timeframeMs(timeframe) < SHORT_BAR_MS ? APPEND_MS : 0)

/** By how much clocks of service and auditor may differ, and how long a checkpoint takes to be signed. */
const CLOCKS_MS = 5 * 60_000

/** A clock that was set forward and back leaves one hour of wrong marks; one that is wrong every day is no accident. */
const MOST_CLOCK_STEPS = 3

/** Calls that are marked late are compared with those in time from so many on. */
const FEWEST_LATE_CALLS = 10

/** How large the log was when it was audited before. */
export type Seen = Pick<AuditState, 'size' | 'seenAt'>

interface Marked {
  readonly index: number
  readonly name: string
  readonly until: number
}

/** Judges whether the verdicts of a live market were recorded when they say, by nothing but the order of the log and a former audit. */
export class Timeliness {
  readonly #findings: Findings
  readonly #seen: Seen | undefined
  readonly #delays = new Map<string, Map<number, number>>()
  /** Index of the last entry that was in time within each hour. */
  readonly #lastOf = new Map<number, number>()
  /** Marked late while nothing in the log shows it, by exchange; and the latest time until which one would be in time. */
  readonly #marked = new Map<string, { all: Marked[]; latest: number }>()
  readonly #falselyMarked: Marked[] = []
  readonly #clockSteps = new Set<number>()
  /** The horizon at which a verdict was recorded after a bar of its race had closed, by the id of the verdict. */
  readonly #known = new Map<string, number>()
  readonly #calls = { late: { won: 0, lost: 0 }, inTime: { won: 0, lost: 0 } }
  #decided = 0

  constructor(findings: Findings, seen: Seen | undefined) {
    this.#findings = findings
    this.#seen = seen
  }

  /** @param horizon newest market time that the log spoke of before */
  takeVerdict(index: number, verdict: Verdict, horizon: number): void {
    const name = seriesName(verdict)
    const delays = this.#delays.get(name) ?? new Map<number, number>()
    this.#delays.set(name, delays)
    const delay = Math.max(0, horizon - verdict.barClose)
    delays.set(delay, (delays.get(delay) ?? 0) + 1)
    if (verdict.recordedLate) return this.#takeMarked(index, verdict, horizon)
    const why = this.#whyLate(index, verdict, horizon)
    if (why !== undefined) {
      const at = `${name} at ${isoTime(verdict.barClose)}`
      return this.#findings.add('backdated_verdict', index, `${at}: ${why}, and it is not marked late`)
    }
    if (isLate(verdict, horizon)) this.#known.set(verdict.verdictId, horizon)
    this.#takeInTime(index, verdict)
  }

  #isLate(verdict: Verdict, at: number): boolean {
    return isLate(verdict, at - appendMs(verdict))
  }

  #whyLate(index: number, verdict: Verdict, horizon: number): string | undefined {
    if (this.#isLate(verdict, horizon)) return `it stands after what was known at ${isoTime(horizon)}`
    const seen = this.#seen
    if (seen === undefined || index < seen.size || !this.#isLate(verdict, seen.seenAt - CLOCKS_MS))
      return undefined
    return `it was not there at ${isoTime(seen.seenAt)}, as the former audit shows`
  }

  /** Says until when it was recorded at the latest, and so was everything in front of it. */
  #takeInTime(index: number, verdict: Verdict): void {
    const until = inTimeUntil(verdict)
    this.#lastOf.set(Math.floor(until / HOUR_MS), index)
    const marked = this.#marked.get(verdict.exchange)
    if (marked === undefined || marked.latest < until + appendMs(verdict)) return
    const { true: found = [], false: others = [] } = Object.groupBy(marked.all, (one) =>
      one.until >= until + appendMs(verdict) ? 'true' : 'false',
    )
    this.#falselyMarked.push(...found)
    this.#clockSteps.add(Math.floor(until / HOUR_MS))
    this.#marked.set(verdict.exchange, { all: others, latest: until })
  }

  #takeMarked(index: number, verdict: Verdict, horizon: number): void {
    if (isLate(verdict, horizon)) return
    const { all, latest } = this.#marked.get(verdict.exchange) ?? { all: [], latest: 0 }
    const until = inTimeUntil(verdict)
    const name = `${seriesName(verdict)} at ${isoTime(verdict.barClose)}`
    // Marks that the log has passed cannot be shown to be false any more.
    const kept = latest > horizon ? all : []
    kept.push({ index, name, until })
    this.#marked.set(verdict.exchange, { all: kept, latest: Math.max(latest, until) })
  }

  takeOutcome({ verdictId, call, race, decidedAt, recordedLate }: Outcome): void {
    const known = this.#known.get(verdictId)
    if (known !== undefined && decidedAt !== null && decidedAt <= known) this.#decided += 1
    this.#known.delete(verdictId)
    if (call === 'HOLD' || race === 'timeout' || race === 'incomplete') return
    const counts = recordedLate ? this.#calls.late : this.#calls.inTime
    counts[race === (call === 'BUY' ? 'up' : 'down') ? 'won' : 'lost'] += 1
  }

  /** @param horizon newest market time that the log speaks of */
  end(horizon: number) {
    const isAccident = this.#clockSteps.size <= MOST_CLOCK_STEPS
    if (!isAccident)
      for (const { index, name } of this.#falselyMarked)
        this.#findings.add('false_late_mark', index, `${name} is marked late; entries after it were in time`)
    const hours = [...this.#lastOf].filter(([hour]) => (hour + 2) * HOUR_MS <= horizon)
    return {
      /** Entries before this one were there an hour before the newest. */
      settled: Math.max(0, ...hours.map(([, index]) => index)),
      delays: [...this.#delays].map(([series, delays]) => delaysOf(series, delays)),
      doubts: [
        ...(isAccident && this.#falselyMarked.length > 0
          ? [
              `${this.#falselyMarked.length} verdicts are marked late and were not, as where a clock is wrong for a while`,
            ]
          : []),
        ...(this.#decided === 0
          ? []
          : [
              `${this.#decided} verdicts stand after a bar that decided their race: of short bars and a slow store`,
            ]),
        ...this.#doubtCalls(),
      ],
    }
  }

  /** Compares late calls with the others: an operator who is late by choice marks the calls that lose. */
  #doubtCalls(): string[] {
    const { late, inTime } = this.#calls
    const [lates, others] = [late.won + late.lost, inTime.won + inTime.lost]
    const most = wilsonInterval(late.won, lates)?.high ?? 1
    const fewest = wilsonInterval(inTime.won, others)?.low ?? 0
    if (lates < FEWEST_LATE_CALLS || most >= fewest) return []
    return [`${late.won} of ${lates} calls that are marked late won, and ${inTime.won} of ${others} in time`]
  }
}

function delaysOf(series: string, counts: ReadonlyMap<number, number>): Delays {
  const sorted = [...counts].toSorted(([a], [b]) => b - a)
  let above = sorted.reduce((sum, [, count]) => sum + count, 0) / 100
  const p99 = sorted.find(([, count]) => {
    above -= count
    return above < 0
  })
  return { series, largestMs: sorted[0]?.[0] ?? 0, p99Ms: p99?.[0] ?? 0 }
}
