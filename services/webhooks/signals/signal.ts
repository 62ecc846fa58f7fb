import type { Coin, Exchange } from '../../../contracts/domain/series.ts'
import type { SignalType } from '../../../contracts/domain/subscription.ts'
import type { Timeframe } from '../../../contracts/domain/timeframes.ts'
import type { Regime, Verdict } from '../../../contracts/domain/verdict.ts'
import type { VerdictRecorded } from '../../../contracts/events/event-catalogue.ts'
import type { EventOf } from '../../../contracts/events/event-definition.ts'
import type { ScanCompleted } from '../../../contracts/events/scan-events.ts'
import type { Revision } from '../../../contracts/infra/event.ts'
import type { Position } from '../../../contracts/infra/position.ts'

type RegimeShiftData = Pick<
  Verdict,
  'exchange' | 'coin' | 'timeframe' | 'verdictId' | 'barClose' | 'regime' | 'confidence'
> & { readonly priorRegime: Regime }

/** The fields of every signal. */
interface SignalOf<Type extends SignalType, Data> {
  readonly type: Type
  /** Id of its event; derived from it where the event holds another signal, too. */
  readonly eventId: string
  /** Its own place in the log: the event's, or just in front of it where another signal of the event comes behind. */
  readonly position: Position
  /** Stream of the event, for a later read. */
  readonly stream: string
  readonly revision: Revision
  /** When it was recorded, Unix milliseconds of wall time. */
  readonly at: number
  readonly exchange: Exchange
  readonly timeframe: Timeframe
  /** Null for what is about no single one. */
  readonly coin: Coin | null
  /** Close of the bar it is about, or the instant of a digest; Unix milliseconds of market time. */
  readonly barClose: number
  /** W3C trace context of what caused it; undefined without one. */
  readonly traceparent: string | undefined
  /** The event's data, decoded. */
  readonly data: Data
}

export type TradeCallSignal = SignalOf<'trade_call', EventOf<typeof VerdictRecorded>['data']>
export type RegimeShiftSignal = SignalOf<'regime_shift', RegimeShiftData>
export type ScanDigestSignal = SignalOf<'scan_digest', EventOf<typeof ScanCompleted>['data']>

/** Something of the log that subscribers may have asked for. */
export type Signal = TradeCallSignal | RegimeShiftSignal | ScanDigestSignal

/** A signal for one subscription, with its place in the order of that subscription. */
export interface Matched {
  readonly subscriptionId: string
  /** From 1, without gaps. */
  readonly sequence: number
  readonly signal: Signal
  /** Rows of a digest that are sent, by the filter at its position; null for other signals. */
  readonly topN: number | null
}
