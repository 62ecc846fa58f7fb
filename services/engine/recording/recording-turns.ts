import type { Exchange } from '../../../contracts/exchanges.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { timeframeMs } from '../../../contracts/timeframes.ts'
import type { Clock } from '../../platform/async/clock.ts'
import type { BarFact, StreamEnd } from './append-once.ts'

export interface RecordingTurnsOptions extends Pick<Clock, 'sleep'> {
  /** Whether this process is the one that records an exchange, of those that share the log. */
  readonly holds: (exchange: Exchange) => boolean
  /** What the stream of a series ends with now. */
  readonly look: (series: Series) => Promise<StreamEnd<BarFact>>
  /** Whether every process follows a series all the time. */
  readonly isMonitored: (series: Series) => boolean
  readonly signal: AbortSignal
}

/** Lets the process that records an exchange go first, and stands in for it where it does not. */
export interface RecordingTurns {
  /**
   * Waits until the bars of a series are recorded, or this process is to record what is missing of them.
   *
   * @param bars oldest first
   * @returns whether it may: not once the signal is aborted, when another goes on.
   */
  await(series: Series, bars: readonly BarFact[]): Promise<boolean>
  /** Says that this process recorded a bar of a series. */
  recorded(series: Series, barClose: number): void
  release(series: Series): void
}

/** How often it is looked whether the other has recorded; the last from then on. */
const LOOK_AFTER_MS = [250, 500, 1_000, 2_000] as const

/**
 * Two engines that began at different times may differ in what they see of a series, so that one of them at a time
 * records an exchange, and the others adopt. None waits for long for one that is gone, or does not follow the series:
 * a verdict that two processes record has one place, whichever comes first.
 */
export function createRecordingTurns(options: RecordingTurnsOptions): RecordingTurns {
  const { holds, look, isMonitored, sleep, signal } = options
  /** The newest bar that this process recorded, of each series. */
  const own = new Map<string, number>()

  /** How long the other is waited for, behind what is in the log. */
  function waitMs(series: Series, first: number, { newest }: StreamEnd<BarFact>): number {
    if (newest === undefined) return 0
    // Nobody follows a series of which an earlier bar is missing already, unless everybody does: then the other has
    // those bars, and was kept from recording them.
    const isLeft = newest.barClose < first - timeframeMs(series.timeframe)
    if (isLeft && !isMonitored(series)) return 0
    const standsIn = own.get(seriesName(series)) === newest.barClose
    return standsIn ? LIMITS.recordStandInMs : LIMITS.recordTakeOverMs
  }

  return {
    async await(series, bars) {
      const [first, last] = [bars[0]?.barClose, bars.at(-1)?.barClose]
      if (first === undefined || last === undefined || holds(series.exchange)) return true
      let waited = 0
      for (let looks = 0; !signal.aborted; looks++) {
        const end = await look(series)
        if (end.newest !== undefined && end.newest.barClose >= last) return true
        const left = waitMs(series, first, end) - waited
        if (left <= 0 || holds(series.exchange)) return true
        const pause = Math.min(left, LOOK_AFTER_MS[Math.min(looks, LOOK_AFTER_MS.length - 1)] ?? left)
        await sleep(pause, signal)
        waited += pause
      }
      return false
    },
    recorded: (series, barClose) => void own.set(seriesName(series), barClose),
    release: (series) => void own.delete(seriesName(series)),
  }
}
