import type { Exchange } from '../../../contracts/exchanges.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import type { Position } from '../../../contracts/position.ts'
import type { SignalType } from '../../../contracts/subscription.ts'
import type { Timeframe } from '../../../contracts/timeframes.ts'

/** Something of the log that subscribers may have asked for. */
export interface Signal {
  readonly type: SignalType
  readonly eventId: string
  readonly position: Position
  /** When it was recorded, Unix milliseconds. */
  readonly at: number
  readonly exchange: Exchange
  readonly timeframe: Timeframe
  /** Close of the bar it is about, or the instant of a digest; Unix milliseconds of market time. */
  readonly barClose: number
  /** The event's data, decoded. */
  readonly data: JsonObject
}

/** A signal for one subscription, with its place in the order of that subscription. */
export interface Matched {
  readonly subscriptionId: string
  /** From 1, without gaps. */
  readonly sequence: number
  readonly signal: Signal
}
