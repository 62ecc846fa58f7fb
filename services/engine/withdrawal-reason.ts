import { isoTime } from '../../contracts/domain/iso-time.ts'
import { type SpeechChange, speechWindowDays } from '../../projections/index.ts'

/** Why no call is made at a timeframe for now; continues "HOLD, because" and "No call is made at 1h:". */
export const withdrawalReason = ({ timeframe, auc, races, from }: SpeechChange): string =>
  `calls at ${timeframe} are withdrawn since ${isoTime(from).slice(0, 10)}: over ${speechWindowDays(timeframe)} days the forecasts ranked no better than chance (AUC ${auc.toFixed(3)} of ${races} outcomes)`
