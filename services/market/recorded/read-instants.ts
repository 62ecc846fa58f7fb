import { DAY_MS, type Timeframe, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { toMilliseconds } from '../instant-unit.ts'

const UNIT_NAMES = { s: 'seconds', ms: 'milliseconds', us: 'microseconds', ns: 'nanoseconds' } as const

export interface InstantOptions {
  /** The present, Unix milliseconds: nothing is later than a day after it. */
  readonly now?: number | undefined
  /** Told of each file whose times were converted to milliseconds. */
  readonly onConverted?: (file: string, unit: string) => void
}

/**
 * Reads the times of files that follow one another: those of a file are in one unit, and all rise.
 *
 * @param timeframe whose grid they are on; absent where they are on none
 * @returns for each file a function that answers milliseconds for the time of the next row, or why it cannot be one
 */
export function createInstantReader(
  { now = Number.POSITIVE_INFINITY, onConverted }: InstantOptions,
  timeframe?: Timeframe,
) {
  let last = Number.NEGATIVE_INFINITY
  return (file: string) => {
    let unit: string | undefined
    return (value: number): number | string => {
      const found = Number.isInteger(value) ? toMilliseconds(value) : undefined
      if (found === undefined)
        return 'is no whole number of seconds, milliseconds, microseconds or nanoseconds from 2009-01-03 to 2100-01-01'
      const { ms } = found
      const read = UNIT_NAMES[found.unit]
      const taken = read === 'milliseconds' ? '' : `(${read}) `
      if (ms > now + DAY_MS) return `${taken}is ${new Date(ms).toISOString()}, more than a day from now`
      if (unit !== undefined && unit !== read) return `is in ${read}, and the rows before are in ${unit}`
      if (timeframe !== undefined && ms % timeframeMs(timeframe) !== 0)
        return `${taken}is not the open time of a ${timeframe} bar, which counts from midnight UTC`
      if (ms <= last) return 'is not later than the row before'
      if (unit === undefined && taken !== '') onConverted?.(file, read)
      unit = read
      last = ms
      return ms
    }
  }
}
