import type { RecordedEvent, Revision } from '../../contracts/event.ts'
import { decodeEventOf } from '../../contracts/event-catalogue.ts'
import { comparePositions, type Position } from '../../contracts/position.ts'
import { type Series, seriesName } from '../../contracts/series.ts'
import { outcomeStream } from '../../contracts/streams.ts'
import { timeframeMs } from '../../contracts/timeframes.ts'
import type { Verdict } from '../../contracts/verdict.ts'
import type { EventStore } from '../log/event-store.ts'
import { RecentMap } from '../runtime/cache/recent-map.ts'

/** When races of verdicts were decided, as the log has it. */
export type DecidedTimes = ReturnType<typeof createDecidedTimes>

interface Known {
  readonly barClose: number
  readonly decidedAt: number | null
}

/** Outcomes of a series that were read ahead. */
interface Ahead {
  outcomes: readonly Known[]
  /** Index of the next one. */
  at: number
  next: Revision
  page: number
  isAtEnd: boolean
}

/** Outcomes read at a time: few of a series that is looked at once, more of one that is read through. */
const FIRST_PAGE = 8
const LARGEST_PAGE = 32
/** Series whose outcomes are kept ahead; with more, those asked for longest ago are read again. */
const MOST_SERIES = 8_192

/**
 * Reads outcomes beside verdicts: each series in its own order, a page ahead, so that a replay has them without holding
 * its rows back until their races end.
 *
 * @param upTo what was appended later is left out: the log as it was
 */
export function createDecidedTimes(
  store: Pick<EventStore, 'read'>,
  { upTo, signal }: { readonly upTo: Position | Date | undefined; readonly signal: AbortSignal },
) {
  const bySeries = new RecentMap<string, Ahead>(MOST_SERIES)

  async function readOn(series: Series, ahead: Ahead): Promise<void> {
    const outcomes: Known[] = []
    let seen = 0
    const from = ahead.next
    const options = { from, limit: ahead.page, signal, asText: true }
    for await (const recorded of store.read(outcomeStream(series), options)) {
      seen += 1
      if (!wasThere(recorded, upTo)) {
        seen = 0
        break
      }
      ahead.next = recorded.revision + 1
      outcomes.push(knownOf(recorded))
    }
    ahead.isAtEnd = seen < ahead.page
    ahead.page = Math.min(LARGEST_PAGE, 2 * ahead.page)
    if (outcomes.length === 0) return
    ahead.outcomes = outcomes
    ahead.at = 0
  }

  /** Undefined where more has to be read. */
  function known(ahead: Ahead, barClose: number): number | null | undefined {
    const found = lookIn(ahead, barClose)
    if (found !== undefined || !(ahead.isAtEnd || signal.aborted)) return found
    return null
  }

  async function readUpTo(series: Series, barClose: number, ahead: Ahead): Promise<number | null> {
    let found = known(ahead, barClose)
    for (; found === undefined; found = known(ahead, barClose)) await readOn(series, ahead)
    return found
  }

  async function find(series: Series, name: string, barClose: number): Promise<number | null> {
    const first = await outcomePlace(store, series, barClose)
    if (first === undefined && upTo === undefined) return null
    const outcomes = first !== undefined && wasThere(first, upTo) ? [knownOf(first)] : []
    const ahead: Ahead = {
      outcomes,
      at: 0,
      next: (first?.revision ?? 0) + outcomes.length,
      page: FIRST_PAGE,
      isAtEnd: first === undefined,
    }
    bySeries.set(name, ahead)
    return readUpTo(series, barClose, ahead)
  }

  return {
    /**
     * Time at which the race of a verdict was decided, Unix milliseconds; null when no bar decided it, or it has no
     * outcome. It is quickest where the verdicts of a series come oldest first.
     */
    of(
      verdict: Pick<Verdict, 'exchange' | 'coin' | 'timeframe' | 'barClose'>,
    ): number | null | Promise<number | null> {
      const name = seriesName(verdict)
      const ahead = bySeries.get(name)
      // In front of what is held: a second look at a stretch, or a verdict that was recorded late.
      if (ahead === undefined || verdict.barClose < (ahead.outcomes[0]?.barClose ?? 0))
        return find(verdict, name, verdict.barClose)
      if (verdict.barClose <= (ahead.outcomes[ahead.at - 1]?.barClose ?? 0)) ahead.at = 0
      // Without an end the log goes on, and outcomes with it.
      if (upTo === undefined) ahead.isAtEnd = false
      const found = known(ahead, verdict.barClose)
      return found === undefined ? readUpTo(verdict, verdict.barClose, ahead) : found
    },
  }
}

const wasThere = ({ position, at }: RecordedEvent, upTo: Position | Date | undefined): boolean =>
  upTo === undefined ||
  (typeof upTo === 'string' ? comparePositions(position, upTo) <= 0 : at <= upTo.toISOString())

/** Undefined where what is read ahead does not reach that far. */
function lookIn(ahead: Ahead, barClose: number): number | null | undefined {
  for (; ahead.at < ahead.outcomes.length; ahead.at += 1) {
    const known = ahead.outcomes[ahead.at]
    if (known !== undefined && known.barClose >= barClose)
      return known.barClose === barClose ? known.decidedAt : null
  }
  return undefined
}

/**
 * The outcome of a bar, or the first one after it. Outcomes are dense and in the order of their bars, at most one per
 * bar, so the bar is no further back than bars lie between it and the newest one: looked for there first, then by
 * halves.
 *
 * @returns undefined where all outcomes are of bars before it
 */
export async function outcomePlace(
  store: Pick<EventStore, 'read'>,
  series: Series,
  barClose: number,
): Promise<RecordedEvent | undefined> {
  const stream = outcomeStream(series)
  let found: RecordedEvent | undefined
  for await (const event of store.read(stream, { direction: 'backwards', limit: 1, asText: true }))
    found = event
  if (found === undefined || knownOf(found).barClose < barClose) return undefined
  const bars = Math.floor((knownOf(found).barClose - barClose) / timeframeMs(series.timeframe))
  let low = Math.max(0, found.revision - bars)
  for (let probe = low; low < found.revision; probe = Math.floor((low + found.revision) / 2)) {
    let event: RecordedEvent | undefined
    for await (const one of store.read(stream, { from: probe, limit: 1, asText: true })) event = one
    if (event === undefined) return undefined
    if (knownOf(event).barClose >= barClose) found = event
    else low = probe + 1
    if (knownOf(found).barClose === barClose) return found
  }
  return found
}

/** Both fields have been in every schema, in this order, and their names stand nowhere else in the JSON of an outcome. */
const TIMES = /"barClose":(\d+),.*"decidedAt":(?:(\d+)|null),/

function knownOf(recorded: RecordedEvent): Known {
  const isOutcome = recorded.type === 'OutcomeLabelled'
  const times = isOutcome && recorded.text !== undefined ? TIMES.exec(recorded.text) : null
  if (times !== null) {
    const [, barClose, decidedAt] = times
    return { barClose: Number(barClose), decidedAt: decidedAt === undefined ? null : Number(decidedAt) }
  }
  return decodeEventOf(recorded, 'OutcomeLabelled').data
}
