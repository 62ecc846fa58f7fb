import { type Candle, fundingFault } from '../../../contracts/domain/candle.ts'
import type { BarBatch, FundingUpdate } from '../../../contracts/domain/feed.ts'
import { type Market, type Series, seriesName } from '../../../contracts/domain/series.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import {
  type BarFault,
  BarRefused,
  type Engine,
  type MarketMetrics,
  type OpenSeries,
  type VerdictDraft,
} from '../engine.ts'

/** A series of a run; bars and drafts are those that wait to be recorded. */
export interface Followed {
  readonly series: Series
  readonly opened: OpenSeries
  readonly barMs: number
  isLive: boolean
  /** Whether the board is still to learn that it is. */
  isNewlyLive: boolean
  bars: number
  barClose: number | undefined
  waiting: Candle[]
  drafts: VerdictDraft[]
  /** Measurements at the bar of the newest draft. */
  metrics: MarketMetrics | undefined
  /** Bars that were refused since the last one that was taken. */
  refusedInARow: number
  /** The error that ended it. It takes no more bars, and is closed once its work under way has ended. */
  fault: unknown
}

export interface IntakeOptions {
  readonly engine: Engine
  /** Market time, Unix milliseconds: a bar that closes well after it is none. */
  readonly clock?: (() => number) | undefined
  /** Told of what was left out of a batch: nothing is computed or recorded from it. */
  readonly onRefused?: ((market: Market, fault: BarFault | 'funding', reason: string) => void) | undefined
  /** Told of every funding settlement in the batches, also of markets that no series belongs to. */
  readonly onFunding?: ((updates: readonly FundingUpdate[]) => void) | undefined
}

/** A feed that gives so many bars in a row that are none has another idea of the series than we have. */
const MOST_REFUSED_IN_A_ROW = 3

/**
 * Computes the batches of a run one by one, keeping with each series what is to be recorded. What one series
 * cannot digest is its own fault, and no other's.
 */
export function createIntake(
  options: IntakeOptions,
  followed: ReadonlyMap<string, Followed>,
  counts: { bars: number },
): (batch: BarBatch) => void {
  const { engine, onFunding } = options
  let isLive = false

  function draft(one: Followed): void {
    const reading = engine.read(one.opened)
    one.metrics = reading.status === 'verdict' ? reading.metrics : undefined
    if (reading.status === 'verdict') one.drafts.push(reading.verdict)
  }

  function refuse(one: Followed, refused: BarRefused): void {
    options.onRefused?.(one.series, refused.fault, refused.message)
    one.refusedInARow += 1
    if (one.refusedInARow >= MOST_REFUSED_IN_A_ROW) throw refused
  }

  function take(one: Followed, candle: Candle, { at, phase }: BarBatch): void {
    try {
      push(options, one, candle, at)
      counts.bars += 1
    } catch (error) {
      if (!(error instanceof BarRefused)) throw error
      return refuse(one, error)
    }
    // Late history of a venue that was away at the start comes after the seam.
    if (phase !== 'history') draft(one)
  }

  return (batch) => {
    const { of } = batch
    const isAbout = ({ series }: Followed): boolean => of === undefined || of.has(seriesName(series))
    if (batch.phase === 'live' && (!isLive || of !== undefined)) {
      isLive ||= of === undefined
      for (const one of soundOnes(followed.values())) {
        if (one.isLive || !isAbout(one)) continue
        one.isLive = true
        one.isNewlyLive = true
        // The clock may have been run through the newest bar in this very group.
        if (one.drafts.at(-1)?.barClose !== one.barClose) keepApart(one, () => draft(one))
      }
    }
    const funding = batch.funding.filter((update) => {
      const fault = fundingFault(update.funding)
      if (fault !== undefined) options.onRefused?.(update.market, 'funding', fault)
      return fault === undefined
    })
    if (funding.length > 0) onFunding?.(funding)
    for (const { series, candle } of batch.bars) {
      const one = followed.get(seriesName(series))
      if (one !== undefined && one.fault === undefined) keepApart(one, () => take(one, candle, batch))
    }
  }
}

/** @throws BarRefused; the error of the engine */
function push({ engine, clock }: IntakeOptions, one: Followed, candle: Candle, at: number): void {
  const barClose = candle.openTime + one.barMs
  if (barClose !== at) throw new BarRefused(one.series, 'misdated', `it closes at ${barClose}, not at ${at}`)
  const now = clock?.() ?? Number.POSITIVE_INFINITY
  if (barClose > now + LIMITS.staleAfterMs)
    throw new BarRefused(one.series, 'misdated', `it closes at ${barClose}, and now is ${now}`)
  engine.push(one.opened, candle)
  assert(one.barClose === undefined || barClose > one.barClose, 'bars of a series rise in time', barClose)
  one.bars = one.opened.state.bars
  one.barClose = barClose
  one.refusedInARow = 0
  one.waiting.push(candle)
}

const soundOnes = (all: Iterable<Followed>): Followed[] => [...all].filter(({ fault }) => fault === undefined)

/** An error of the work on one series is stored with that series. */
function keepApart(one: Followed, work: () => void): void {
  try {
    work()
  } catch (error) {
    one.fault = error
  }
}
