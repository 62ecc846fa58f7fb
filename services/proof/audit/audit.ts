import type { Candle } from '../../../contracts/candle.ts'
import { decodeEvent, type ServiceEvent } from '../../../contracts/event-catalogue.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import { canonicalJson, type JsonObject } from '../../../contracts/json.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { type Timeframe, timeframeMs } from '../../../contracts/timeframes.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import { openCheckpoint, type Signature } from '../notes/checkpoint.ts'
import type { Verifier } from '../notes/note-keys.ts'
import { parseContent } from '../proof-file.ts'
import { type Entry, entryAt, kindOf, opensAt } from '../tree/entry.ts'
import { sha256 } from '../tree/merkle.ts'
import {
  AuditedContents,
  type AuditedSeries,
  type ContentsSummary,
  MOST_WINDOW_BARS,
} from './audit-contents.ts'
import { type AuditState, checkGrowth, checkHistory } from './audited-history.ts'
import { createFindings, type Finding, type Findings } from './finding.ts'
import type { Labelled } from './labelled.ts'
import type { LogSource } from './log-source.ts'
import { type RecordGrouping, recountRecord } from './published-record.ts'
import { contentTiles, type ReadLog, readLog } from './read-log.ts'

/** Functions of other domains that an audit calls. */
export interface AuditTools {
  /** Bars that open in [from, to), oldest first; undefined where nobody has them. */
  readonly barsOf: (series: Series, from: number, to: number) => Promise<readonly Candle[] | undefined>
  /** How the race of a verdict ends on some bars. */
  readonly raceOf: (
    verdict: Pick<Verdict, 'timeframe' | 'barClose' | 'validUntil' | 'barrier'>,
    bars: readonly Candle[],
  ) => JsonObject
  /** The rows of the published track record; undefined where there is none. */
  readonly published: (grouping: RecordGrouping) => Promise<readonly JsonObject[] | undefined>
  /** Waits until a checkpoint holds what was published. */
  readonly untilSigned: () => Promise<void>
  /** Turns rows of the read model into published rows. */
  readonly reported: (
    rows: ReadonlyMap<string, JsonObject>,
    grouping: RecordGrouping,
  ) => readonly JsonObject[]
}

export interface AuditOptions {
  readonly source: LogSource
  readonly keys: readonly Verifier[]
  /** A signed checkpoint of an earlier day, which the log must continue. */
  readonly earlier?: string | undefined
  /** The state that the former audit kept. */
  readonly seen: AuditState | undefined
  readonly tools: AuditTools
  /** Unix milliseconds. */
  readonly now: number
  /** Called with the progress of each part, one after the other. */
  readonly onProgress?: (what: string, done: number, all: number) => void
}

export interface AuditReport {
  readonly origin: string
  readonly size: number
  readonly root: string
  readonly signatures: readonly Signature[]
  readonly findings: readonly Finding[]
  readonly counts: ReturnType<Findings['counts']>
  readonly summary: Omit<ContentsSummary, 'series' | 'settled'>
  /** Outcomes that were recomputed from bars. */
  readonly recomputed: number
  /** Outcomes that lack bars which are there now: a venue may send bars late. */
  readonly lacking: number
  /** Checks that were not made, each with the reason. */
  readonly unchecked: readonly string[]
  readonly log: ReadLog
}

/**
 * Checks a log with nothing but its keys: that its entries lead to what is signed, that it continues what it was, and
 * that what it says holds together.
 *
 * @throws ServiceError `proof_invalid` where nothing can be relied on: signatures or entries do not fit
 */
export async function audit(options: AuditOptions): Promise<AuditReport> {
  const { source, keys, seen, tools, now } = options
  const findings = createFindings()
  const unchecked: string[] = []
  const earlier = options.earlier === undefined ? undefined : openCheckpoint(options.earlier, keys).checkpoint
  // Before the log: what it counts has to be in the log then.
  const records = await readRecords(tools, unchecked)
  const log = await readLog(source, keys, (done, all) => options.onProgress?.('entries', done, all))
  const { checkpoint, signatures } = log
  if (!keys.some(({ name }) => name === checkpoint.origin))
    findings.add(
      'second_log',
      null,
      `its origin is ${checkpoint.origin}, which is the name of none of the keys`,
    )
  checkHistory(log, seen, findings)
  if (earlier !== undefined) checkGrowth(log, earlier, findings)
  if (seen === undefined) unchecked.push('what the log was before: nothing was kept of an earlier audit')

  const contents = new AuditedContents(findings, { origin: checkpoint.origin, seen, now })
  await readContents(options, log, findings, (index, entry, event) => {
    contents.take(index, entry, event)
    if (event === undefined) return
    for (const { recount } of records) recount.take(index, event)
  })
  const { series: all, settled, ...summary } = contents.end()
  if (summary.market !== 'live')
    unchecked.push(`lateness, which only a live market has: this one is ${summary.market}`)
  const { recomputed, lacking } = await checkOutcomes(all, options, findings, unchecked)
  unchecked.push(
    'whether verdicts follow from their bars and model: `signal verify --recompute` computes one again',
    'whether bars are those of the venue: compare some of them with it',
  )
  for (const { recount } of records) recount.check(tools.reported, settled, findings)
  const { origin, size, root } = checkpoint
  return {
    origin,
    size,
    root: root.toString('base64'),
    signatures,
    findings: findings.listed(),
    counts: findings.counts(),
    summary,
    recomputed,
    lacking,
    unchecked,
    log,
  }
}

async function readRecords(tools: AuditTools, unchecked: string[]) {
  const records = []
  for (const grouping of ['series', 'timeframe'] as const) {
    const said = await tools.published(grouping)
    if (said === undefined) unchecked.push(`the track record by ${grouping}: none is published here`)
    else records.push({ recount: recountRecord(said, grouping) })
  }
  if (records.length > 0) await tools.untilSigned()
  return records
}

/** Reads the contents in the order of their entries; those that were edited are found, and left out. */
async function readContents(
  { source, onProgress }: AuditOptions,
  log: ReadLog,
  findings: Findings,
  take: (index: number, entry: Entry, event: ServiceEvent | undefined) => void,
): Promise<void> {
  let index = 0
  for await (const { of, lineAt } of contentTiles(source, log)) {
    for (let at = 0; ; at++, index++) {
      const entry = entryAt(of, at)
      if (entry === undefined) break
      const line = lineAt(at)
      if (line === 'null') take(index, entry, undefined)
      else if (!sha256(line).equals(entry.hash))
        findings.add('edited_verdict', index, `entry ${index} commits to another content than is shown`)
      else openContent(index, entry, line, findings, take)
    }
    onProgress?.('contents', index, log.checkpoint.size)
  }
}

function openContent(
  index: number,
  entry: Entry,
  line: string,
  findings: Findings,
  take: (index: number, entry: Entry, event: ServiceEvent) => void,
): void {
  const content = parseContent(line)
  const kind = kindOf(content)
  if (kind !== entry.kind || opensAt(content, kind) !== entry.opensAt)
    findings.add(
      'withheld_content',
      index,
      `entry ${index} says otherwise what it is, or when it is shown, than its content`,
    )
  const place = { stream: 'audit', revision: 0, position: String(index), at: '', meta: META }
  take(index, entry, decodeEvent({ ...content, ...place }))
}

const META = { correlationId: 'audit', actor: 'audit' }

/** Recomputes outcomes on the bars of today: an outcome stands on those that there were. */
async function checkOutcomes(
  all: ContentsSummary['series'],
  { tools: { barsOf, raceOf }, onProgress }: AuditOptions,
  findings: Findings,
  unchecked: string[],
): Promise<{ readonly recomputed: number; readonly lacking: number }> {
  const counts = { same: 0, wrong: 0, without: 0, later: 0 }
  for (const [index, about] of all.entries()) {
    onProgress?.('series with outcomes', index, all.length)
    const { series, outcomes } = about
    if (outcomes.length === 0) continue
    const to = outcomes.at(outcomes.length - 1).validUntil
    const bars = await barsOf(series, outcomes.at(0).barClose, to)
    let from = 0
    for (let place = 0; place < outcomes.length; place++) {
      const outcome = outcomes.at(place)
      while ((bars?.[from]?.openTime ?? Number.POSITIVE_INFINITY) < outcome.barClose) from += 1
      const window = bars?.slice(from, from + MOST_WINDOW_BARS) ?? []
      const ends = raceOf({ ...outcome, timeframe: series.timeframe }, window)
      const keys = Object.keys(ends).filter((key) => isMeasured(outcome, key))
      const found = bars === undefined ? 'without' : compared(about, { outcome, ends, keys, window })
      counts[found] += 1
      if (found !== 'wrong') continue
      const name = `${seriesName(series)} at ${isoTime(outcome.barClose)}`
      findings.add(
        'wrong_outcome',
        outcome.index,
        `${name} says ${picked(outcome, keys)}; its bars say ${picked(ends, keys)}`,
      )
    }
  }
  const { same, wrong, without, later } = counts
  if (without > 0) unchecked.push(`${without} outcomes, for which there are no bars`)
  return { recomputed: same + wrong + later, lacking: later }
}

/** Former releases did not take all measures. */
const isMeasured = (outcome: Labelled, key: string): boolean =>
  outcome.hasForecast || outcome[key as keyof Labelled] !== null || !LATER_MEASURES.has(key)

const picked = (from: object, keys: readonly string[]): string =>
  canonicalJson(Object.fromEntries(keys.map((key) => [key, (from as JsonObject)[key] ?? null])))

interface Compared {
  readonly outcome: Labelled
  /** The race that its bars give. */
  readonly ends: JsonObject
  /** Fields that are compared. */
  readonly keys: readonly string[]
  /** Bars of today, from the first of the window on. */
  readonly window: readonly Candle[]
}

/**
 * Compares an outcome with the bars of today. A race that was decided before the first missing bar needs no others.
 * `later` where bars were missing then that are there now, `without` where they are missing now.
 */
function compared(
  about: AuditedSeries,
  { outcome, ends, keys, window }: Compared,
): 'same' | 'wrong' | 'without' | 'later' {
  const isSame = (key: string): boolean => (ends[key] ?? null) === outcome[key as keyof Labelled]
  if (keys.every(isSame)) return 'same'
  const isWhole = hasAll(window, outcome, about.series.timeframe)
  const isSameDecision = DECISION.every(isSame)
  if (!isWhole && (ends.race === 'incomplete' || isSameDecision)) return 'without'
  const lackedBars = outcome.race === 'incomplete' || (isSameDecision && outcome.closePrice === null)
  return lackedBars && !isHeard(about, outcome) ? 'later' : 'wrong'
}

const DECISION = ['race', 'entryPrice', 'exitPrice', 'decidedAt'] as const

type Window = Pick<Labelled, 'barClose' | 'validUntil'>

/** Whether bars hold all those of a window, and perhaps some after it. */
function hasAll(bars: readonly Candle[], { barClose, validUntil }: Window, timeframe: Timeframe): boolean {
  const barMs = timeframeMs(timeframe)
  const last = bars[(validUntil - barClose) / barMs - 1]
  return bars[0]?.openTime === barClose && last?.openTime === validUntil - barMs
}

/** Whether every bar of a window has a verdict: the engine that computed them had these bars. */
const isHeard = ({ covered, stretches }: AuditedSeries, { barClose, validUntil }: Window): boolean =>
  covered >= validUntil && !stretches.some(({ from, to }) => from <= validUntil && to > barClose)

const LATER_MEASURES: ReadonlySet<string> = new Set(['highest', 'lowest', 'closePrice'])
