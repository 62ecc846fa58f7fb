import { TIMEFRAMES, type Timeframe } from '../../../contracts/timeframes.ts'
import type { VerdictModel } from '../model.ts'

/**
 * Why no call is made at a timeframe, and where there are some; null for one at which calls are made.
 *
 * @param withdrawn why calls at a timeframe are withdrawn for now; undefined where they are not
 * @example silenceNote(loadModel(), '1d') // 'No call is made at 1d: … Calls are made at 1h, 2h.'
 */
export function silenceNote(
  { timeframes }: Pick<VerdictModel, 'timeframes'>,
  timeframe: Timeframe,
  withdrawn: (timeframe: Timeframe) => string | undefined = () => undefined,
): string | null {
  const { [timeframe]: asked } = timeframes
  const reason = asked.skill ? withdrawn(timeframe) : asked.reason
  if (reason === undefined) return null
  const spoken = TIMEFRAMES.filter((one) => timeframes[one].skill && withdrawn(one) === undefined)
  const elsewhere =
    spoken.length === 0 ? 'None is made at any other either.' : `Calls are made at ${spoken.join(', ')}.`
  return `No call is made at ${timeframe}: ${reason}. ${elsewhere}`
}
