import type { FreeTools } from './free-tools.ts'
import type { Call, Regime, Timeframe } from './words.ts'

export type { Call, Regime, Timeframe }

/** The part of every answer about itself and the caller. */
export interface ServiceBlock {
  readonly version: string
  readonly tool: string
  readonly request_id: string
  readonly market: string
  readonly auth: { readonly outcome: string; readonly tier: string }
  readonly quota: {
    readonly remaining: number
    readonly limit: number
    readonly used: number
    readonly resets_at: string
    readonly daily: {
      readonly remaining: number
      readonly limit: number
      readonly used: number
      readonly resets_at: string
    } | null
  } | null
  readonly payment?: {
    readonly id: string
    readonly state: string
    readonly amount_usdc: string
    readonly transaction: string | null
    readonly status_url: string
    /** Opens this answer again, as `Payment-Secret` beside the same payment. */
    readonly secret: string
  }
  readonly notice: string
}

/** Quantiles of the return of a verdict's window, as fractions: how far, not which way. */
export interface ExpectedRange {
  readonly p10: number
  readonly p25: number
  readonly p50: number
  readonly p75: number
  readonly p90: number
}

interface Forecast {
  /** In four of five cases the return of the window is between p10 and p90; null where the market stands still. */
  readonly expected_range: ExpectedRange | null
  /** Standard deviation of that return, as a fraction. */
  readonly expected_volatility: number | null
}

interface Answered {
  readonly _service: ServiceBlock
}

/** A measured value, and its exact share of the log-odds. */
export interface Factor {
  readonly name: string
  readonly value: number | null
  readonly contribution: number
  readonly status: 'measured' | 'unavailable'
}

export interface TradeCallRequest {
  readonly coin: string
  readonly timeframe?: Timeframe
  readonly exchange?: string
  readonly include_factors?: boolean
}

export interface TradeCall extends Answered, Forecast {
  readonly call: Call
  /** 100 × the calibrated probability of the called side; capped at 60. */
  readonly confidence: number
  readonly strength: number
  readonly regime: Regime
  readonly coin: string
  readonly timeframe: Timeframe
  readonly exchange: string
  /** Probability that the upper barrier comes first, given that one of them is reached. */
  readonly probability: number
  readonly barrier: number
  readonly price: number
  readonly bar_close: string
  readonly valid_until: string
  readonly verdict_id: string
  readonly model_version: string
  readonly factors: readonly Factor[]
  readonly reasoning: string
  /** Present where the newest bars, which chose nothing of the model, do not tell its skill here from a coin. */
  readonly unconfirmed?: true
  readonly verify_url: string
  readonly data_age_ms: number
}

export interface MarketRegimeRequest {
  readonly coin: string
  readonly timeframe?: Timeframe
  readonly exchange?: string
}

export interface MarketRegime extends Answered {
  readonly call: Call
  readonly confidence: number
  readonly regime: Regime
  readonly regime_since: string
  readonly regime_strength: number
  readonly volatility_percentile: number
  /** Bars that the percentile is of. This and the two below are missing while no engine runs. */
  readonly percentile_bars?: number
  /** Which way the trend points, however lively the market is. */
  readonly direction?: 'UP' | 'DOWN' | 'NONE'
  /** How far the price moves in its last 8 bars, over its last 350. */
  readonly liveliness?: number | null
  readonly metrics: Readonly<Record<string, number | null>>
  readonly coin: string
  readonly timeframe: Timeframe
  readonly exchange: string
  readonly bar_close: string
  readonly verdict_id: string
  readonly verify_url: string
  readonly data_age_ms: number
}

export interface TradeScanRequest {
  readonly exchange?: string
  readonly timeframe?: Timeframe
  readonly top_n?: number
  readonly min_confidence?: number
  readonly include_holds?: boolean
  readonly limit?: number
  readonly rank_by?: 'strength' | 'expected_range' | 'volume' | 'confidence' | 'change'
  /** Takes and ranks coins by this figure, in place of `rank_by`. */
  readonly lens?: 'funding' | 'gainers' | 'losers' | 'volume' | 'volatility'
  readonly min_liquidity_usd?: number
}

export interface TradeScan extends Answered {
  readonly exchange: string
  readonly timeframe: Timeframe
  readonly completed_at: string
  readonly universe_ranked_at: string
  readonly calls: readonly (Forecast & {
    readonly rank: number
    readonly coin: string
    readonly call: Call
    readonly confidence: number
    readonly strength: number
    readonly regime: Regime
    readonly price: number
    readonly change_24h: number | null
    readonly quote_volume_24h: number
    readonly lens_value: number | null
    readonly bar_close: string
    readonly valid_until: string
    readonly verdict_id: string
    readonly verify_url: string
  })[]
  readonly scanned: number
  readonly holds: number
  readonly errors: readonly { readonly coin: string; readonly code: string; readonly message: string }[]
  readonly lens_note: string | null
  readonly note: string | null
}

export interface FundingScanRequest {
  readonly min_net_bps?: number
  readonly holding_hours?: number
  readonly limit?: number
  readonly coins?: readonly string[]
  readonly taker_fee_bps?: number
}

/** One side of a pair. */
export interface FundingLeg {
  readonly exchange: string
  readonly contract: string
  readonly coins_per_unit: number
  readonly side: 'long' | 'short'
  readonly rate: number
  readonly interval_hours: number
  readonly annualised: number
  readonly settled_at: string
  readonly next_funding: string
}

export interface FundingScan extends Answered {
  readonly completed_at: string
  readonly holding_hours: number
  readonly fees_bps: number
  readonly opportunities: readonly {
    readonly rank: number
    readonly coin: string
    readonly long: FundingLeg
    readonly short: FundingLeg
    readonly annualised_gross: number
    readonly expected_annualised: number
    readonly net_expected_bps: number
    readonly break_even_hours: number | null
    readonly persistence: number
    readonly history_days: number
  }[]
  readonly pairs_compared: number
  readonly pairs_too_short: number
  readonly pairs_unconfirmed: number
  readonly markets_stale: number
  readonly venues: readonly string[]
  readonly note: string | null
}

/** Which recorded verdicts are wanted; several values of one field are separated by commas. */
export interface VerdictFilter {
  readonly exchange?: string
  readonly coin?: string
  readonly timeframe?: string
  readonly call?: string
  /** Bars that close at this instant or later, ISO 8601. */
  readonly from?: string
  /** Bars that close before this instant. */
  readonly to?: string
  /** The cursor of a row: verdicts after it. */
  readonly after?: string
  /** The log as it was: an instant or a position; what was recorded later is left out of a replay. */
  readonly as_of?: string
  /** Rows of a replay at most. */
  readonly limit?: number
}

/** A recorded verdict. */
export interface Verdict extends Omit<TradeCall, '_service' | 'verify_url' | 'data_age_ms'> {
  /** Cursor after this row. */
  readonly cursor: string
  readonly recorded_at: string
  readonly regime_since: string
  readonly regime_strength: number
  readonly volatility_percentile: number
  readonly anchor_bar: string
  readonly inputs_hash: string
  readonly shifted_from: Regime | ''
  readonly bars_missed: number
  /** Whether it was recorded as its bar closed, when the past of the market was computed, or late: then it counts for nothing. */
  readonly recorded_as: 'live' | 'backfill' | 'late'
  /** When everybody could read it. */
  readonly visible_at: string
  /** Close of the bar that decided its race; null where none did, or not yet. */
  readonly decided_at: string | null
  /** Which barrier came first. This and what follows is null as long as there is no outcome. */
  readonly race: 'up' | 'down' | 'both' | 'timeout' | 'incomplete' | null
  readonly entry_price: number | null
  readonly exit_price: number | null
  /** Close of the last bar of the window. */
  readonly close_price: number | null
  readonly exit_at: string | null
  /** Return of the call in basis points, after costs of 12; null for HOLD. */
  readonly net_bps: number | null
}

/** A payment, as the holder of its id sees it. */
export interface Payment {
  readonly id: string
  readonly state:
    | 'owed'
    | 'settling'
    | 'broadcast'
    | 'unknown'
    | 'confirmed'
    | 'final'
    | 'uncollectable'
    | 'refunded'
  readonly rail: 'direct' | 'gateway'
  readonly product: string
  readonly payer: string
  readonly amount_usdc: string
  readonly refunded_usdc: string
  readonly is_served_first: boolean
  readonly transaction: string | null
  readonly block: number | null
  readonly reason: string | null
  readonly claimed_at: string
  readonly changed_at: string
  readonly valid_until: string
  readonly next_step: string
}

/** Every tool by its name: what it is asked, and what it answers. */
export interface Tools extends FreeTools {
  readonly get_trade_call: { readonly request: TradeCallRequest; readonly answer: TradeCall }
  readonly get_market_regime: { readonly request: MarketRegimeRequest; readonly answer: MarketRegime }
  readonly scan_trade_calls: { readonly request: TradeScanRequest; readonly answer: TradeScan }
  readonly scan_funding_arb: { readonly request: FundingScanRequest; readonly answer: FundingScan }
}
