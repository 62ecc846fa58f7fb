import { decodeEvent, EVENT_CATALOGUE, type ServiceEvent } from '../../../contracts/event-catalogue.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { faultyError, openCheckpoint, parseCheckpoint, type Verifier } from '../note.ts'
import { parseContent } from '../proof-file.ts'
import { decodeEntry, encodeEntry, entryOf } from '../tree/entry.ts'
import { sha256 } from '../tree/merkle.ts'
import { LogContents } from './contents.ts'
import { Findings } from './finding.ts'
import type { LogSource } from './log-source.ts'
import { checkOutcomes, OutcomeTable, type RaceTools } from './outcomes.ts'
import { readHead, readTiles } from './read-log.ts'
import { RecordCount, type RecordGrouping } from './record.ts'

/** Functions of other domains that an audit calls. */
export interface AuditTools extends RaceTools {
  /** The rows of the published track record; undefined if there is none. */
  readonly published: (grouping: RecordGrouping) => Promise<readonly JsonObject[] | undefined>
  /** Waits until a checkpoint holds the outcomes that the record counts. */
  readonly untilSigned: () => Promise<void>
  /** Turns rows of the read model into published rows. */
  readonly reported: (
    rows: ReadonlyMap<string, JsonObject>,
    grouping: RecordGrouping,
  ) => readonly JsonObject[]
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
 * that its contents agree with one another.
 *
 * @throws ServiceError `proof_invalid` if nothing can be relied on: signatures, entries or contents do not fit
 */
export async function audit(options: AuditOptions) {
  const { source, keys, earlier, seen, tools, onProgress } = options
  const findings = new Findings()
  const unchecked =
    seen === undefined ? ['what the log was before: nothing was kept of an earlier audit'] : []
  const former = seen && { ...parseCheckpoint(seen.checkpoint), at: seen.seenAt }
  const saved = earlier === undefined ? undefined : openCheckpoint(earlier, keys).checkpoint
  // Before the log: the outcomes that it counts must be in the log then.
  const records = await readRecords(tools, unchecked)
  const head = await readHead(source, keys)
  const table = new OutcomeTable(head.checkpoint.size)
  const contents = new LogContents(findings, table, former)
  const before = [saved, former].filter((one) => one !== undefined)
  let index = 0
  for await (const { entries, lines } of readTiles(source, head.checkpoint, before, findings)) {
    for (const [at, bytes] of entries.entries()) {
      const event = openContent(index, bytes, String(lines[at]), contents, findings)
      if (event !== undefined) for (const one of [contents, ...records]) one.take(index, event)
      index += 1
    }
    onProgress?.('entries', index, head.checkpoint.size)
  }
  const { summary, series } = contents.end()
  if (summary.market !== 'live')
    unchecked.push(`lateness, which only a live market has: this one is ${summary.market}`)
  const outcomes = { same: 0, wrong: 0, without: 0, lacking: 0 }
  for (const [done, about] of series.entries()) {
    await checkOutcomes(about, table, tools, findings, outcomes)
    onProgress?.('series with outcomes', done + 1, series.length)
  }
  if (outcomes.without > 0) unchecked.push(`${outcomes.without} outcomes, for which there are no bars`)
  unchecked.push(
    'whether verdicts follow from their bars and model: `signal verify --recompute` computes one again',
    'whether bars are those of the venue: compare some of them with it',
  )
  for (const record of records) record.check(tools.reported, contents.settled(), findings)
  const { same, wrong, lacking } = outcomes
  return {
    ...head.checkpoint,
    root: head.checkpoint.root.toString('base64'),
    signatures: head.signatures,
    /** The signed checkpoint, as text. */
    checkpoint: head.note,
    findings: findings.listed,
    /** How many findings of each kind there are. */
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

/**
 * The event that an entry commits to; undefined if it is not shown, or another one is.
 *
 * @throws ServiceError `proof_invalid` for an entry or an event of an unknown form
 */
function openContent(
  index: number,
  bytes: Buffer,
  line: string,
  contents: LogContents,
  findings: Findings,
): ServiceEvent | undefined {
  const entry = decodeEntry(bytes)
  if (entry === undefined) throw faultyError(`entry ${index} has an unknown form`)
  if (line === 'null') {
    contents.hide(index, entry.opensAt)
    return undefined
  }
  const content = sha256(line).equals(entry.hash) ? parseContent(line) : undefined
  if (content === undefined || !encodeEntry(entryOf(content, line)).equals(bytes)) {
    findings.add('edited_verdict', index, 'it commits to another content than is shown')
    return undefined
  }
  const place = { stream: 'audit', revision: 0, position: String(index), at: '', meta: META }
  const event = decodeEvent({ ...content, ...place })
  const checked = EVENT_CATALOGUE[event.type].data.safeParse(event.data)
  if (checked.success) return event
  const [issue] = checked.error.issues
  throw faultyError(`entry ${index} is no ${event.type}: ${issue?.path.join('.')}: ${issue?.message}`)
}

const META = { correlationId: 'audit', actor: 'audit' }
