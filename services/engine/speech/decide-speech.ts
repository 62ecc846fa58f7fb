import type { ServiceEvent } from '../../../contracts/event-catalogue.ts'
import { type SpeechChange, SpeechRestored, SpeechWithdrawn } from '../../../contracts/model-events.ts'
import { DAY_MS } from '../../../contracts/timeframes.ts'
import type { DueSpeech, SpeechRow } from '../../../projections/index.ts'

/** Whether a model speaks at a timeframe, as its stream says. */
export interface SpeechState {
  readonly isWithdrawn: boolean
  /** The day that the newest change was judged on; what was due before it is settled. */
  readonly day: number
}

export const SPEAKING: SpeechState = { isWithdrawn: false, day: -1 }

export function evolveSpeech(state: SpeechState, event: ServiceEvent): SpeechState {
  if (event.type !== 'SpeechWithdrawn' && event.type !== 'SpeechRestored') return state
  return { isWithdrawn: event.type === 'SpeechWithdrawn', day: event.data.day }
}

/**
 * A change takes effect at the second midnight after the day that decided it, so that every process has read it by
 * then.
 */
const LEAD_DAYS = 2

/** The change to record; undefined where the stream has it already. */
export function decideSpeech(
  state: SpeechState,
  { modelVersion, timeframe }: Pick<SpeechRow, 'modelVersion' | 'timeframe'>,
  { change, ...evidence }: DueSpeech,
):
  | { readonly definition: typeof SpeechWithdrawn | typeof SpeechRestored; readonly data: SpeechChange }
  | undefined {
  const withdraws = change === 'withdraw'
  if (withdraws === state.isWithdrawn || evidence.day <= state.day) return undefined
  const data = { modelVersion, timeframe, from: evidence.day + LEAD_DAYS * DAY_MS, ...evidence }
  return { definition: withdraws ? SpeechWithdrawn : SpeechRestored, data }
}
