import { isoTime } from '../../../contracts/iso-time.ts'
import type { SpeechChange } from '../../../contracts/model-events.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import { speechRuleOf } from '../../../projections/index.ts'

const WITHDRAWN = 'calls at'

/** Why no call is made at a timeframe for now; continues "because" and "No call is made at 1h:". */
export const withdrawalReason = ({ modelVersion, timeframe, auc, races, from }: SpeechChange): string =>
  `${WITHDRAWN} ${timeframe} are withdrawn since ${isoTime(from).slice(0, 10)}: over ${speechRuleOf(modelVersion, timeframe).windowDays} days its forecasts ranked no better than chance (AUC ${auc.toFixed(3)} over ${races} races)`

/**
 * A verdict that makes no call for a reason that is not in its bars. Its forecast stays as it is, so that it is scored,
 * and calls can be restored. To recompute a verdict, compute it from its bars and apply this.
 */
export const silencedBecause = <Draft extends Pick<Verdict, 'call' | 'strength' | 'reasoning'>>(
  draft: Draft,
  reason: string,
): Draft => ({ ...draft, call: 'HOLD', strength: 0, reasoning: `HOLD, because ${reason}.` })

/** Whether a recorded verdict is of a timeframe where calls were withdrawn. */
export const wasSilenced = ({ call, reasoning }: Pick<Verdict, 'call' | 'reasoning'>): boolean =>
  call === 'HOLD' && reasoning.startsWith(`HOLD, because ${WITHDRAWN} `)
