import { z } from 'zod'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import { faultyError } from '../notes/checkpoint.ts'
import { rootOf, subtreesOf } from '../tree/merkle.ts'
import type { Findings } from './finding.ts'
import { type LogSource, readAt } from './log-source.ts'
import type { ReadLog } from './read-log.ts'

/** Something outside the log that shows how many entries it had at a time. */
export interface Trace {
  readonly size: number
  /** Unix milliseconds. */
  readonly at: number
  /** For messages: what it is. */
  readonly by: string
  /** Whether the log had no more entries then. An anchor shows only that it had so many. */
  readonly isNewest: boolean
}

/** A stretch of the log without a trace, although there were traces all the time before or after. */
export interface Silence {
  /** Entries [from, to) were in no tree that left a trace before. */
  readonly from: number
  readonly to: number
  /** Market times between which an entry that is in time should have left one. */
  readonly after: number
  readonly before: number
}

const pageSchema = z.object({
  anchors: z.array(
    z.object({
      origin: z.string(),
      size: z.int().nonnegative(),
      root: z.string(),
      chain: z.object({ written_at: z.int().nonnegative() }).nullable(),
      timestamp: z
        .object({ bitcoin_block: z.int().nullable(), written_at: z.int().nonnegative() })
        .nullable(),
    }),
  ),
  next: z.int().nullable(),
})

type Page = z.output<typeof pageSchema>

/** More than ten years of one every five minutes. */
const MOST_PAGES = 20_000

/**
 * Anchors of the log, as its service lists them.
 *
 * @throws ServiceError `proof_invalid` for a list that is none
 */
export async function readAnchors(
  source: LogSource,
  { checkpoint, leaves }: ReadLog,
  findings: Findings,
): Promise<Trace[]> {
  const traces: Trace[] = []
  let newest: Page['anchors'][number] | undefined
  for (let [after, pages]: [number | null, number] = [0, 0]; after !== null; pages++) {
    const page: Page | undefined = await readAt(source, `log/anchors?after=${after}`, readPage)
    if (page === undefined) break
    for (const anchor of page.anchors) {
      // One that is younger than the checkpoint is no part of what is audited.
      if (anchor.origin !== checkpoint.origin || anchor.size > checkpoint.size) continue
      newest = anchor
      // A timestamp is written again, hours later, once it stands in a block of Bitcoin.
      const promised = anchor.timestamp?.bitcoin_block === null ? anchor.timestamp : null
      for (const place of [anchor.chain, promised])
        if (place !== null)
          traces.push({ size: anchor.size, at: place.written_at, by: 'an anchor', isNewest: false })
    }
    if (page.next !== null && (page.next <= after || pages > MOST_PAGES))
      throw faultyError('its list of anchors does not end')
    after = page.next
  }
  if (newest !== undefined && rootOf(subtreesOf(leaves), newest.size).toString('base64') !== newest.root)
    findings.add('second_history', null, `the anchor at ${newest.size} entries is of another tree`)
  return traces
}

function readPage(bytes: Buffer): Page {
  try {
    return pageSchema.parse(JSON.parse(bytes.toString()))
  } catch {
    throw faultyError('its list of anchors cannot be read')
  }
}

/** Steps between traces that are needed to say which length is usual. */
const FEWEST_STEPS = 4
const SILENT_MS = 6 * HOUR_MS

/**
 * Stretches without a trace that are much longer than usual.
 *
 * @returns undefined where there are too few traces to say what is usual
 */
export function silencesIn(traces: readonly Trace[]): Silence[] | undefined {
  // An entry was in a tree no later than in a larger one.
  let earliest = Number.POSITIVE_INFINITY
  const shown = traces
    .toSorted((a, b) => b.size - a.size || b.at - a.at)
    .map(({ size, at }) => {
      earliest = Math.min(earliest, at)
      return { size, at: earliest }
    })
    .toReversed()
  const steps = shown.slice(1).flatMap((to, index) => {
    const from = shown[index]
    return from === undefined || from.size === to.size ? [] : [{ from, to, length: to.at - from.at }]
  })
  if (steps.length < FEWEST_STEPS) return undefined
  const usual = steps.map(({ length }) => length).toSorted((a, b) => a - b)[steps.length >> 1] ?? 0
  return steps
    .filter(({ length }) => length > Math.max(SILENT_MS, 6 * usual))
    .map(({ from, to }) => ({
      from: from.size,
      to: to.size,
      after: from.at + Math.max(HOUR_MS, 3 * usual),
      before: to.at - HOUR_MS,
    }))
}
