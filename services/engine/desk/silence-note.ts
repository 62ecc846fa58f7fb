import { TIMEFRAMES, type Timeframe } from '../../../contracts/timeframes.ts'
import type { VerdictModel } from '../model.ts'

/**
 * Why no call is ever made at a timeframe, and where there are some; null for one at which calls are made.
 *
 * @example silenceNote(loadModel(), '1d') // 'No call is made at 1d: … Calls are made at 1h, 2h.'
 */
export function silenceNote(
  { timeframes }: Pick<VerdictModel, 'timeframes'>,
  timeframe: Timeframe,
): string | null {
  const { [timeframe]: asked } = timeframes
  if (asked.skill) return null
  const spoken = TIMEFRAMES.filter((one) => timeframes[one].skill)
  const elsewhere =
    spoken.length === 0 ? 'None is made at any other either.' : `Calls are made at ${spoken.join(', ')}.`
  return `No call is made at ${timeframe}: ${asked.reason}. ${elsewhere}`
}
