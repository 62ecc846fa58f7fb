import { callReturn, type RaceEnd, ROUND_TRIP_COST } from '../../contracts/domain/outcome.ts'
import type { Call } from '../../contracts/domain/verdict.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'

/** A call with the end of its race. */
type EndedCall = RaceEnd & { readonly call: Call }

/** BUY and SELL calls with what came of them, beside what the constants would have made of the same bars. */
export interface CallTally extends JsonObject {
  readonly calls: number
  /** Calls whose race reached a barrier; one whose bar touched both counts as lost. */
  readonly reached: number
  readonly wins: number
  /** Races among `reached` that the upper barrier won, and that the lower one won. */
  readonly ups: number
  readonly downs: number
  /** Calls with a known return: all but the incomplete ones. Those that reached no barrier are left at the close. */
  readonly trades: number
  /** Trades that ended in favour of the call, and that would have done so had every call been BUY, or SELL. */
  readonly inFavour: number
  readonly buyInFavour: number
  readonly sellInFavour: number
  /** Sum of their returns as fractions, `ROUND_TRIP_COST` taken off each; and of its squares. */
  readonly net: number
  readonly netSquares: number
  /** The same sum had every one of them been BUY, and SELL. */
  readonly buyNet: number
  readonly sellNet: number
}

export const NO_CALLS: CallTally = {
  calls: 0,
  reached: 0,
  wins: 0,
  ups: 0,
  downs: 0,
  trades: 0,
  inFavour: 0,
  buyInFavour: 0,
  sellInFavour: 0,
  net: 0,
  netSquares: 0,
  buyNet: 0,
  sellNet: 0,
}

/** Return after costs of entering a side at the start of the race and leaving at its end; null when unknown. */
export function netReturn(outcome: EndedCall, side: Call = outcome.call): number | null {
  const gross = callReturn(outcome, side)
  return gross === null ? null : gross - ROUND_TRIP_COST
}

const favours = (outcome: EndedCall, side: Call): number => ((callReturn(outcome, side) ?? 0) > 0 ? 1 : 0)

/** Counts a BUY or SELL call. */
export function countCall(tally: CallTally, outcome: EndedCall): CallTally {
  const { race, call } = outcome
  const isReached = race === 'up' || race === 'down' || race === 'both'
  const isWon = race === (call === 'BUY' ? 'up' : 'down')
  const net = netReturn(outcome)
  return {
    calls: tally.calls + 1,
    reached: tally.reached + (isReached ? 1 : 0),
    wins: tally.wins + (isWon ? 1 : 0),
    ups: tally.ups + (race === 'up' ? 1 : 0),
    downs: tally.downs + (race === 'down' ? 1 : 0),
    trades: tally.trades + (net === null ? 0 : 1),
    inFavour: tally.inFavour + favours(outcome, call),
    buyInFavour: tally.buyInFavour + favours(outcome, 'BUY'),
    sellInFavour: tally.sellInFavour + favours(outcome, 'SELL'),
    net: tally.net + (net ?? 0),
    netSquares: tally.netSquares + (net ?? 0) ** 2,
    buyNet: tally.buyNet + (netReturn(outcome, 'BUY') ?? 0),
    sellNet: tally.sellNet + (netReturn(outcome, 'SELL') ?? 0),
  }
}
