import type { Call, Regime, Timeframe } from './words.ts'

/** A section of the documentation. */
export interface Passage {
  readonly id: string
  readonly title: string
  readonly url: string
  readonly excerpt: string
}

export interface KnowledgeSearchRequest {
  readonly query: string
  readonly limit?: number
}

export interface KnowledgeSearch {
  readonly query: string
  readonly total: number
  readonly results: readonly (Passage & { readonly score: number })[]
}

export interface ChatRequest {
  readonly question: string
  readonly model?: string
}

export interface Chat {
  readonly question: string
  /** Plain text; `[1]` refers to the first citation. */
  readonly answer: string
  readonly citations: readonly Passage[]
  readonly model: string
  readonly note: string | null
  readonly quota: {
    readonly remaining: number
    readonly limit: number
    readonly used: number
    readonly resets_at: string
  }
}

export interface RegimeShiftsRequest {
  readonly coin: string
  readonly timeframe?: Timeframe
  readonly exchange?: string
  readonly limit?: number
  readonly after?: string
}

export interface RegimeShifts {
  readonly notice: string
  readonly as_of: string
  readonly rows: readonly {
    readonly exchange: string
    readonly coin: string
    readonly timeframe: Timeframe
    readonly bar_close: string
    readonly regime: Regime
    readonly prior_regime: Regime
    readonly confidence: number
    readonly verdict_id: string
  }[]
  /** Give it as `after` for older shifts; null at the end. */
  readonly next: string | null
}

interface DeliverySearch {
  readonly after?: string
  readonly limit?: number
  readonly result?: string
}

type Signal = 'trade_call' | 'regime_shift' | 'scan_digest'
type Cadence = '1h' | '4h' | '1d'

/** The signals that a subscription sends; null is as if a field was left out. */
export interface WebhookFilter {
  readonly events: readonly Signal[]
  readonly timeframes?: readonly Timeframe[] | null
  /** Coin symbols, and `top:10` for the ten largest of their exchange. */
  readonly assets?: readonly string[] | null
  readonly exchanges?: readonly string[] | null
  readonly min_confidence?: number | null
  readonly min_strength?: number | null
  /** One trade call when a series turns BUY or SELL, instead of one for each bar that stays so. */
  readonly only_changes?: boolean | null
  /** This and the next three belong to `scan_digest`. */
  readonly timeframe?: Timeframe | null
  readonly exchange?: string | null
  readonly top_n?: number | null
  readonly cadence?: Cadence | null
}

export interface NewWebhookRequest extends WebhookFilter {
  /** The address of deliveries. */
  readonly url: string
  /** Attempts a second at most. */
  readonly max_per_second?: number | null
  /** The next delivery is sent once the one before was taken or given up. */
  readonly in_order?: boolean
  /** Signals after this: `now`, a position or an instant. */
  readonly start?: string
}

/** A subscription as its owner sees it. */
export interface WebhookSubscription {
  readonly id: string
  readonly url: string
  readonly events: readonly Signal[]
  readonly timeframes: readonly Timeframe[] | null
  readonly assets: readonly string[] | null
  readonly exchanges: readonly string[] | null
  readonly min_confidence: number
  readonly min_strength: number
  readonly only_changes: boolean
  readonly timeframe: Timeframe | null
  readonly exchange: string | null
  readonly top_n: number | null
  readonly cadence: Cadence | null
  readonly max_per_second: number | null
  readonly in_order: boolean
  readonly state: 'active' | 'paused' | 'disabled' | 'stopped'
  readonly reason: string | null
  readonly state_since: string
  readonly created_at: string
  readonly cursor: { readonly position: string; readonly sequence: number }
  readonly last_attempt_at: string | null
  readonly last_success_at: string | null
  readonly failures_in_a_row: number
  readonly failing_since: string | null
  readonly retries_open: number
  readonly next_attempt_at: string | null
  readonly counts: {
    readonly delivered: number
    readonly failed: number
    readonly exhausted: number
    readonly skipped: number
  }
  readonly secrets_signing: number
  readonly warnings: readonly string[]
}

/** One try to deliver. */
export interface WebhookAttempt {
  readonly delivery_id: string
  readonly sequence: number
  readonly event_id: string | null
  readonly attempt: number
  readonly at: string
  readonly duration_ms: number
  readonly result: string
  readonly status: number | null
  readonly reason: string | null
  readonly detail: string | null
  readonly next_at: string | null
}

interface One {
  /** `id` of the subscription. */
  readonly id: string
}

/** The tools beside those about markets: they cost no calls. */
export interface FreeTools {
  readonly search_knowledge: { readonly request: KnowledgeSearchRequest; readonly answer: KnowledgeSearch }
  readonly chat_knowledge: { readonly request: ChatRequest; readonly answer: Chat }
  readonly get_regime_shifts: { readonly request: RegimeShiftsRequest; readonly answer: RegimeShifts }
  readonly create_webhook: {
    readonly request: NewWebhookRequest
    /** The secret that signs deliveries is shown this once. */
    readonly answer: WebhookSubscription & { readonly secret: string }
  }
  readonly list_webhooks: {
    readonly request: {
      readonly status?: 'active' | 'disabled' | 'all'
      readonly after?: string
      readonly limit?: number
    }
    readonly answer: {
      readonly webhooks: readonly WebhookSubscription[]
      readonly needs_review: number
      readonly next: string | null
    }
  }
  readonly get_webhook: { readonly request: One; readonly answer: WebhookSubscription }
  readonly delete_webhook: { readonly request: One; readonly answer: One & { readonly deleted: true } }
  readonly pause_webhook: { readonly request: One; readonly answer: WebhookSubscription }
  readonly resume_webhook: {
    readonly request: One & { readonly from?: 'cursor' | 'now' | 'since'; readonly since?: string }
    readonly answer: WebhookSubscription
  }
  readonly rotate_webhook_secret: {
    readonly request: One & { readonly overlap_hours?: number }
    readonly answer: { readonly secret: string; readonly overlap_until: string }
  }
  readonly test_webhook: {
    readonly request: One & { readonly event?: Signal }
    readonly answer: {
      readonly delivery_id: string
      readonly event: Signal
      readonly accepted: boolean
      readonly outcome: string
      readonly status: number | null
      readonly latency_ms: number
      readonly detail: string
    }
  }
  readonly list_webhook_deliveries: {
    readonly request: One & DeliverySearch
    readonly answer: { readonly attempts: readonly WebhookAttempt[]; readonly next: string | null }
  }
  readonly recover_webhook: {
    readonly request: One & { readonly since: string }
    readonly answer: { readonly deliveries: number }
  }
}

/** A candle, times in Unix milliseconds. */
export interface Bar {
  readonly openTime: number
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
  readonly volume: number
}

/** The bars of a series. */
export interface Bars {
  readonly exchange: string
  readonly coin: string
  readonly timeframe: Timeframe
  /** Prices of a simulated market are made up. */
  readonly market: 'simulated' | 'recorded' | 'live'
  readonly source: string
  readonly from: number
  readonly to: number
  readonly bars: readonly Bar[]
  readonly gaps: readonly { readonly from: number; readonly to: number }[]
  readonly funding: readonly {
    readonly time: number
    readonly rate: number
    readonly intervalHours: number
  }[]
  /** Give it as `after` for later bars; null at the end. */
  readonly next: string | null
}

/** How the calls of a model came out, beside what chance would have done; `/openapi.json` explains every figure. */
export interface TrackRecord {
  readonly notice: string
  readonly as_of: string
  readonly rows: readonly (Readonly<Record<string, unknown>> & {
    readonly model_version: string
    readonly exchange: string | null
    readonly coin: string | null
    readonly timeframe: Timeframe
    readonly verdicts: number
    readonly calls: Readonly<Record<Call, number>>
    readonly brier: number | null
  })[]
  readonly speech: readonly Readonly<Record<string, unknown>>[]
  readonly next: string | null
}
