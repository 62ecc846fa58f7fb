import { isoTime } from '../../../contracts/iso-time.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { HOUR_MS, timeframeMs } from '../../../contracts/timeframes.ts'
import { inTimeUntil, isLate, type Verdict } from '../../../contracts/verdict.ts'
import type { AuditState } from './audited-history.ts'
import type { Findings } from './finding.ts'

/** From its mark to its place in the log a verdict takes as long as an append is repeated: so long only short bars close. */
const APPEND_MS = 2 * 60_000
const SHORT_BAR_MS = 15 * 60_000
const appendMs = ({ timeframe }: Series): number => (timeframeMs(timeframe) < SHORT_BAR_MS ? APPEND_MS : 0)

/** By how much clocks of service and auditor may differ, and how long a checkpoint takes to be signed. */
const CLOCKS_MS = 5 * 60_000

/** Judges whether the verdicts of a live market were recorded when they say, by nothing but the order of the log and a former audit. */
export class Timeliness {
  readonly #findings: Findings
  readonly #seen: AuditState | undefined
  /** Index of the last entry that was in time within each hour. */
  readonly #lastOf = new Map<number, number>()

  constructor(findings: Findings, seen: AuditState | undefined) {
    this.#findings = findings
    this.#seen = seen
  }

  /** @param horizon newest market time that the log spoke of before */
  takeVerdict(index: number, verdict: Verdict, horizon: number): void {
    if (verdict.recordedLate) return
    const why = this.#whyLate(index, verdict, horizon)
    if (why === undefined) {
      this.#lastOf.set(Math.floor(inTimeUntil(verdict) / HOUR_MS), index)
      return
    }
    const at = `${seriesName(verdict)} at ${isoTime(verdict.barClose)}`
    this.#findings.add('backdated_verdict', index, `${at}: ${why}, and it is not marked late`)
  }

  #whyLate(index: number, verdict: Verdict, horizon: number): string | undefined {
    const wasLate = (at: number): boolean => isLate(verdict, at - appendMs(verdict))
    if (wasLate(horizon)) return `it stands after what was known at ${isoTime(horizon)}`
    const seen = this.#seen
    if (seen === undefined || index < seen.size || !wasLate(seen.seenAt - CLOCKS_MS)) return undefined
    return `it was not there at ${isoTime(seen.seenAt)}, as the former audit shows`
  }

  /** Entries before this one were there an hour before the newest. @param horizon newest market time that the log speaks of */
  settled(horizon: number): number {
    const hours = [...this.#lastOf].filter(([hour]) => (hour + 2) * HOUR_MS <= horizon)
    return Math.max(0, ...hours.map(([, index]) => index))
  }
}
