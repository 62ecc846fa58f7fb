import type { JsonObject } from '../../../contracts/infra/json.ts'
import { openCheckpoint, parseCheckpoint, type Verifier } from '../note.ts'
import { TILE_WIDTH } from '../tree/tile-path.ts'
import { LogContents } from './contents.ts'
import { Findings } from './finding.ts'
import { checkOutcomes, type RaceTools } from './outcomes.ts'
import { type LogSource, readEntries, readHead } from './read-log.ts'
import { RecordCount, type RecordGrouping, type ReportRow } from './record.ts'

/** Functions of other domains that an audit calls. */
export interface AuditTools extends RaceTools {
  /** The rows of the published track record; undefined if there is none. */
  readonly published: (grouping: RecordGrouping) => Promise<readonly JsonObject[] | undefined>
  /** Waits until a checkpoint holds the outcomes that the record counts. */
  readonly untilSigned: () => Promise<void>
  readonly reported: ReportRow
}

/** The checkpoint of a former audit, which an auditor keeps for the next one. */
export interface AuditState {
  readonly checkpoint: string
  /** By the clock of the auditor, Unix milliseconds. */
  readonly seenAt: number
}

export interface AuditOptions {
  readonly source: LogSource
  readonly keys: readonly Verifier[]
  /** A signed checkpoint of an earlier day, which the log must continue. */
  readonly earlier?: string | undefined
  /** The state that the former audit kept. */
  readonly seen: AuditState | undefined
  readonly tools: AuditTools
  /** Called with the progress of each part, one after the other. */
  readonly onProgress?: (what: string, done: number, all: number) => void
}

export type AuditReport = Awaited<ReturnType<typeof audit>>

/**
 * Checks a log with nothing but its keys: that its entries lead to the signed root, that it continues what it was, and
 * that its contents agree with one another. @throws ServiceError `proof_invalid` if nothing can be relied on:
 * signatures, entries or contents do not fit
 */
export async function audit({ source, keys, earlier, seen, tools, onProgress }: AuditOptions) {
  const findings = new Findings()
  const unchecked: string[] = []
  if (seen === undefined) unchecked.push('what the log was before: nothing was kept of an earlier audit')
  const former = seen && { ...parseCheckpoint(seen.checkpoint), at: seen.seenAt }
  const saved = earlier === undefined ? undefined : openCheckpoint(earlier, keys).checkpoint
  // Before the log: the outcomes that it counts must be in the log then.
  const records = await readRecords(tools, unchecked)
  const { note, checkpoint, signatures } = await readHead(source, keys)
  const contents = new LogContents(findings, former)
  const before = [saved, former].filter((one) => one !== undefined)
  for await (const entry of readEntries(source, checkpoint, before, findings)) {
    contents.take(entry)
    if (entry.event !== undefined) for (const record of records) record.take(entry.index, entry.event)
    if (entry.index % TILE_WIDTH === 0) onProgress?.('entries', entry.index, checkpoint.size)
  }
  const { summary, series } = contents.end()
  if (summary.market !== 'live')
    unchecked.push(`lateness, which only a live market has: this one is ${summary.market}`)
  const outcomes = { same: 0, wrong: 0, without: 0, lacking: 0 }
  for (const [done, about] of series.entries()) {
    await checkOutcomes(about, tools, findings, outcomes)
    onProgress?.('series with outcomes', done + 1, series.length)
  }
  const { same, wrong, without, lacking } = outcomes
  if (without > 0) unchecked.push(`${without} outcomes, for which there are no bars`)
  unchecked.push(
    'whether verdicts follow from their bars and model: `signal verify --recompute` computes one again',
    'whether bars are those of the venue: compare some of them with it',
  )
  for (const record of records) record.check(tools.reported, contents.settled(), findings)
  return {
    ...checkpoint,
    root: checkpoint.root.toString('base64'),
    signatures,
    checkpoint: note,
    findings: findings.listed,
    counts: findings.counts,
    summary,
    /** Outcomes that were computed again from bars. */
    recomputed: same + wrong + lacking,
    /** Outcomes that lack bars which are there now: a venue may send bars late. */
    lacking,
    /** Checks that were not made, each with the reason. */
    unchecked,
  }
}

async function readRecords(tools: AuditTools, unchecked: string[]): Promise<RecordCount[]> {
  const records: RecordCount[] = []
  for (const grouping of ['series', 'timeframe'] as const) {
    const published = await tools.published(grouping)
    if (published === undefined) unchecked.push(`the track record by ${grouping}: none is published here`)
    else records.push(new RecordCount(published, grouping))
  }
  if (records.length > 0) await tools.untilSigned()
  return records
}
