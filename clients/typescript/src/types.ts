/** Made by `npm run docs` from the schemas that the service checks by. */

export type Timeframe = '1m' | '3m' | '5m' | '15m' | '30m' | '1h' | '2h' | '4h' | '8h' | '12h' | '1d'
export type Call = 'BUY' | 'SELL' | 'HOLD'
export type Regime = 'TRENDING_UP' | 'TRENDING_DOWN' | 'RANGING' | 'VOLATILE'
export type Exchange =
  | 'SIM'
  | 'BINANCE'
  | 'BYBIT'
  | 'OKX'
  | 'BITGET'
  | 'HL'
  | 'GATE'
  | 'KUCOIN'
  | 'MEXC'
  | 'BINGX'
  | 'HTX'
  | 'PHEMEX'
  | 'ASTER'
  | 'WHITEBIT'
  | 'XT'

export interface Tools {
  get_trade_call: {
    request: TradeCallRequest
    answer: TradeCall
  }
  get_market_regime: {
    request: MarketRegimeRequest
    answer: MarketRegime
  }
  scan_trade_calls: {
    request: TradeScanRequest
    answer: TradeScan
  }
  scan_funding_arb: {
    request: FundingScanRequest
    answer: FundingScan
  }
  search_knowledge: {
    request: KnowledgeSearchRequest
    answer: KnowledgeSearch
  }
  chat_knowledge: {
    request: ChatRequest
    answer: Chat
  }
  get_regime_shifts: {
    request: RegimeShiftsRequest
    answer: RegimeShifts
  }
  create_webhook: {
    request: CreateWebhookRequest
    answer: CreateWebhook
  }
  list_webhooks: {
    request: ListWebhooksRequest
    answer: ListWebhooks
  }
  get_webhook: {
    request: GetWebhookRequest
    answer: WebhookSubscription
  }
  delete_webhook: {
    request: GetWebhookRequest
    answer: DeleteWebhook
  }
  pause_webhook: {
    request: GetWebhookRequest
    answer: WebhookSubscription
  }
  resume_webhook: {
    request: ResumeWebhookRequest
    answer: WebhookSubscription
  }
  rotate_webhook_secret: {
    request: RotateWebhookSecretRequest
    answer: RotateWebhookSecret
  }
  test_webhook: {
    request: TestWebhookRequest
    answer: TestWebhook
  }
  list_webhook_deliveries: {
    request: ListWebhookDeliveriesRequest
    answer: ListWebhookDeliveries
  }
  recover_webhook: {
    request: RecoverWebhookRequest
    answer: RecoverWebhook
  }
}
export interface TradeCallRequest {
  /** Coin, as BTC; Bitcoin, BTCUSDT and BTC-PERP are understood too */
  coin: string
  /** Length of a bar; aligned to UTC midnight */
  timeframe?: Timeframe
  /** Exchange code; left out, the first monitored */
  exchange?: Exchange
  /** Whether to list the contribution of every factor */
  include_factors?: boolean
}
export interface TradeCall {
  /** Composite verdict */
  call: Call
  /** 100 × calibrated probability that the called side comes first; 50 to 60 */
  confidence: number
  /** Percentile among recent bars of this series, for ranking; no probability */
  strength: number
  /** Market regime: a description, not a forecast */
  regime: Regime
  /** Coin symbol, upper case letters and digits */
  coin: string
  /** Length of one bar; bars are aligned to UTC midnight */
  timeframe: Timeframe
  /** Exchange code */
  exchange: Exchange
  /** Probability that +1σ is reached before −1σ, given that one of them is */
  probability: number
  /** Distance of either barrier, as a fraction of the price */
  barrier: number
  /** Quantiles of the window's return: how far, not which way; null in a still market */
  expected_range: {
    p10: number
    p25: number
    p50: number
    p75: number
    p90: number
  } | null
  /** Standard deviation of it, heavy-tailed; null likewise */
  expected_volatility: number | null
  /** Close of the bar */
  price: number
  /** ISO 8601, UTC */
  bar_close: string
  /** End of the window in which the outcome is decided */
  valid_until: string
  verdict_id: string
  model_version: string
  /** Signed contributions; they sum to the log-odds of the probability */
  factors: {
    name: string
    value: number | null
    contribution: number
    status: 'measured' | 'unavailable'
  }[]
  reasoning: string
  /** Newest bars show no skill here */
  unconfirmed?: true
  verify_url: string
  /** Time since the bar closed */
  data_age_ms: number
  _service: ServiceBlock
}
export interface ServiceBlock {
  version: string
  tool: string
  request_id: string
  /** simulated: its prices are made up; recorded: replayed from files; live */
  market: 'simulated' | 'recorded' | 'live'
  auth: {
    outcome: 'OK' | 'ABSENT' | 'MALFORMED' | 'UNKNOWN' | 'INDETERMINATE'
    /** The tier applied; free for anonymous callers */
    tier: 'free' | 'starter' | 'pro'
    /** How to send a key, where what came is none */
    note?: string
  }
  quota: {
    /** Calls left: the lesser of what the window and the day leave */
    remaining: number
    /** Calls in the window */
    limit: number
    /** Calls used in the window */
    used: number
    /** When the window ends */
    resets_at: string
    /** Of the UTC day; null without a limit */
    daily: {
      remaining: number
      limit: number
      used: number
      resets_at: string
    } | null
  } | null
  /** Where the answer was paid for by itself */
  payment?: {
    id: string
    /** As of this answer; `status_url` tells it from then on */
    state:
      'owed' | 'settling' | 'broadcast' | 'unknown' | 'confirmed' | 'final' | 'uncollectable' | 'refunded'
    /** Decimal, as in 0.02 */
    amount_usdc: string
    /** Hash of the transaction, once it is known */
    transaction: string | null
    status_url: string
    /** Sent as `Payment-Secret` with the same payment, it opens this answer again */
    secret: string
  }
  /** Information, not advice; where the documentation is */
  notice: string
}
export interface MarketRegimeRequest {
  /** Coin, as BTC; Bitcoin, BTCUSDT and BTC-PERP are understood too */
  coin: string
  /** Length of a bar; aligned to UTC midnight */
  timeframe?: Timeframe
  /** Exchange code; left out, the first monitored */
  exchange?: Exchange
}
export interface MarketRegime {
  /** Composite verdict */
  call: Call
  /** 100 × calibrated probability that the called side comes first; 50 to 60 */
  confidence: number
  /** Market regime: a description, not a forecast */
  regime: Regime
  /** Of the trend */
  direction?: 'DOWN' | 'NONE' | 'UP'
  /** Moves of 8 bars over those of 350 */
  liveliness?: number | null
  /** Close of the bar at which it began */
  regime_since: string
  /** Distance of the trend measure from zero, 100 at 1.5 ATR */
  regime_strength: number
  /** Share of the last bars that were calmer; forecasts volatility */
  volatility_percentile: number
  /** Bars it is of */
  percentile_bars?: number
  metrics: {
    /** RSI, 14 bars */
    rsi: number | null
    /** ADX, 14 bars */
    adx: number | null
    /** +DI, 14 bars */
    plus_di: number | null
    /** −DI, 14 bars */
    minus_di: number | null
    /** ATR of 14 bars, in percent of the close */
    atr_percent: number | null
    /** (EMA9 − EMA21) / ATR50: what the trend is decided on */
    ema_gap_atr: number | null
    /** Standard deviation of the last 50 log returns, per bar */
    realised_volatility: number | null
  }
  /** Coin symbol, upper case letters and digits */
  coin: string
  /** Length of one bar; bars are aligned to UTC midnight */
  timeframe: Timeframe
  /** Exchange code */
  exchange: Exchange
  /** ISO 8601, UTC */
  bar_close: string
  verdict_id: string
  verify_url: string
  /** Time since the bar closed */
  data_age_ms: number
  _service: ServiceBlock
}
export interface TradeScanRequest {
  /** Exchange code; left out, the first monitored */
  exchange?: Exchange
  /** Length of a bar; aligned to UTC midnight */
  timeframe?: Timeframe
  /** Coins to scan: the top of the exchange by volume */
  top_n?: number
  /** Above 60 nothing passes */
  min_confidence?: number
  /** Whether HOLDs have rows too */
  include_holds?: boolean
  /** Rows in the answer */
  limit?: number
  /** expected_range: p10 to p90, widest first; expected_return: refused; volume, change: of 24 hours */
  rank_by?: 'strength' | 'expected_range' | 'expected_return' | 'volume' | 'confidence' | 'change'
  /** Ranks coins by this, in place of rank_by */
  lens?: 'funding' | 'gainers' | 'losers' | 'volume' | 'volatility'
  /** Least quote volume of 24 hours */
  min_liquidity_usd?: number
}
export interface TradeScan {
  /** Exchange code */
  exchange: Exchange
  /** Length of one bar; bars are aligned to UTC midnight */
  timeframe: Timeframe
  /** Market time of the scan */
  completed_at: string
  /** When coins were ranked; normally within the hour */
  universe_ranked_at: string
  calls: {
    rank: number
    /** Coin symbol, upper case letters and digits */
    coin: string
    /** Composite verdict */
    call: Call
    /** 100 × calibrated probability that the called side comes first; 50 to 60 */
    confidence: number
    /** Percentile among recent bars of this series, for ranking; no probability */
    strength: number
    /** Market regime: a description, not a forecast */
    regime: Regime
    price: number
    /** Change over 24 hours as a fraction; null where unknown */
    change_24h: number | null
    /** Traded in 24 hours, in the quote currency */
    quote_volume_24h: number
    /** What `lens` ranks by; volatility is the 14-bar ATR in percent */
    lens_value: number | null
    /** ISO 8601, UTC */
    bar_close: string
    /** ISO 8601, UTC */
    valid_until: string
    /** Quantiles of the window's return: how far, not which way; null in a still market */
    expected_range: {
      p10: number
      p25: number
      p50: number
      p75: number
      p90: number
    } | null
    /** Standard deviation of it, heavy-tailed; null likewise */
    expected_volatility: number | null
    verdict_id: string
    verify_url: string
  }[]
  /** Coins with a fresh verdict */
  scanned: number
  /** How many of them say HOLD */
  holds: number
  /** Coins without a fresh verdict, and why */
  errors: {
    /** Coin symbol, upper case letters and digits */
    coin: string
    code: string
    message: string
  }[]
  /** Why `lens_value` is null, where the lens is not known */
  lens_note: string | null
  /** Why there can be no rows: of the timeframe, or of the floor */
  note: string | null
  _service: ServiceBlock
}
export interface FundingScanRequest {
  /** Least expected net carry, in basis points */
  min_net_bps?: number
  /** How long both legs are held */
  holding_hours?: number
  /** Rows in the answer */
  limit?: number
  /**
   * Only these coins; all that are known where it is left out
   *
   * @minItems 1
   * @maxItems 100
   *
   * Items: Coin, as BTC; Bitcoin, BTCUSDT and BTC-PERP are understood too
   */
  coins?: string[]
  /** Fee of one leg, in basis points; four legs are paid */
  taker_fee_bps?: number
}
export interface FundingScan {
  /** ISO 8601, UTC */
  completed_at: string
  holding_hours: number
  /** The four taker fees together */
  fees_bps: number
  opportunities: {
    rank: number
    /** Coin symbol, upper case letters and digits */
    coin: string
    long: {
      /** Exchange code */
      exchange: Exchange
      /** What the exchange calls the coin: 1000PEPE, KPEPE or PEPE */
      contract: string
      /** Coins that one unit of its price is for: 1,000 of 1000PEPE */
      coins_per_unit: number
      side: 'long' | 'short'
      /** Newest settled rate: the fraction longs pay shorts for one interval */
      rate: number
      /** Differs by exchange and contract, and changes over time */
      interval_hours: number
      /** The rate as a simple yearly fraction */
      annualised: number
      /** ISO 8601, UTC */
      settled_at: string
      /** Next settlement, if the interval stays */
      next_funding: string
    }
    short: {
      /** Exchange code */
      exchange: Exchange
      /** What the exchange calls the coin: 1000PEPE, KPEPE or PEPE */
      contract: string
      /** Coins that one unit of its price is for: 1,000 of 1000PEPE */
      coins_per_unit: number
      side: 'long' | 'short'
      /** Newest settled rate: the fraction longs pay shorts for one interval */
      rate: number
      /** Differs by exchange and contract, and changes over time */
      interval_hours: number
      /** The rate as a simple yearly fraction */
      annualised: number
      /** ISO 8601, UTC */
      settled_at: string
      /** Next settlement, if the interval stays */
      next_funding: string
    }
    /** What the newest rates would earn in a year if they stayed; they do not */
    annualised_gross: number
    /** Yearly carry expected over the holding time, shrunk by persistence */
    expected_annualised: number
    /** Expected carry over the holding time after four taker fees, in basis points of one leg */
    net_expected_bps: number
    /** When the carry has paid the fees; null if not within a year */
    break_even_hours: number | null
    /** Correlation of the daily spread with that of the day before, at least 0 */
    persistence: number
    /** Whole days of funding history that both exchanges have */
    history_days: number
  }[]
  pairs_compared: number
  /** Pairs left out: under a week of common history, or a gap in 24 hours */
  pairs_too_short: number
  /** Pairs left out: no two fresh prices within 5 % confirm one asset */
  pairs_unconfirmed: number
  /** Markets left out because their newest settlement is too old */
  markets_stale: number
  /**
   * Exchanges with funding history here
   *
   * Items: Exchange code
   */
  venues: Exchange[]
  /** Why there is nothing, and what was left out */
  note: string | null
  _service: ServiceBlock
}
export interface KnowledgeSearchRequest {
  /** What to look for in the documentation, in plain words */
  query: string
  /** Sections at most */
  limit?: number
}
export interface KnowledgeSearch {
  /** What was searched for, without blanks around it */
  query: string
  /** Sections that match, of which the best are in `results` */
  total: number
  /** Sections of the documentation, the best first */
  results: {
    /** Page and section, as in quotas#how-many-calls-are-there */
    id: string
    /** The page and the heading of the section */
    title: string
    /** Where the section can be read */
    url: string
    /** The part of the section that fits best, as plain text */
    excerpt: string
    /** Higher is better */
    score: number
  }[]
}
export interface ChatRequest {
  /** One question about this service; earlier ones are not remembered */
  question: string
  /** `extractive`, or the model of this service */
  model?: string
}
export interface Chat {
  /** The question, without blanks around it */
  question: string
  /** Plain text; `[1]` refers to the first citation */
  answer: string
  /** The sections that the answer is taken from */
  citations: {
    /** Page and section, as in quotas#how-many-calls-are-there */
    id: string
    /** The page and the heading of the section */
    title: string
    /** Where the section can be read */
    url: string
    /** The part of the section that fits best, as plain text */
    excerpt: string
  }[]
  /** The model that answered; `extractive` steps in where another could not */
  model: string
  /** Why another model than the one asked for answered; else null */
  note: string | null
  quota: {
    /** Chats left in the window */
    remaining: number
    /** Chats in the window */
    limit: number
    /** Chats used in the window */
    used: number
    /** When the window ends */
    resets_at: string
  }
}
export interface RegimeShiftsRequest {
  /** Exchange code; left out, the first monitored */
  exchange?: Exchange
  /** Coin symbol, for example BTC */
  coin: string
  /** Length of one bar; bars are aligned to UTC midnight */
  timeframe?: Timeframe
  /** Shifts at most */
  limit?: number
  /** Older shifts: the `next` of the answer before */
  after?: string
}
export interface RegimeShifts {
  notice: string
  /** Position in the log up to which shifts are known */
  as_of: string
  rows: {
    /** Exchange code */
    exchange: Exchange
    /** Coin symbol, upper case letters and digits */
    coin: string
    /** Length of one bar; bars are aligned to UTC midnight */
    timeframe: Timeframe
    /** ISO 8601, UTC: close of the bar with which it came */
    bar_close: string
    /** Market regime: a description, not a forecast */
    regime: Regime
    /** Market regime: a description, not a forecast */
    prior_regime: Regime
    /** Of the verdict with which it came */
    confidence: number
    verdict_id: string
  }[]
  /** Give it as `after` for the rows after these; null at the end */
  next: string | null
}
export interface CreateWebhookRequest {
  /** A public HTTPS address on port 443 or 8443 */
  url: string
  /**
   * What is sent
   *
   * @minItems 1
   * @maxItems 3
   */
  events: ('trade_call' | 'regime_shift' | 'scan_digest')[]
  /** Of trade calls and regime shifts; all without it */
  timeframes?: Timeframe[] | null
  /** Coin symbols, and `top:N` for the N largest of their exchange by volume; all without it */
  assets?: string[] | null
  /** Of trade calls and regime shifts; all without it */
  exchanges?: Exchange[] | null
  /** Least confidence of trade calls and regime shifts. It lives in 50–60, so more sends nothing */
  min_confidence?: number | null
  /** Least strength of trade calls */
  min_strength?: number | null
  /** One trade call when a series turns, instead of one for each bar that stays so */
  only_changes?: boolean | null
  /** Of scan_digest: timeframe of the scan */
  timeframe?: Timeframe | null
  /** Of scan_digest: venue of the scan */
  exchange?: Exchange | null
  /** Of scan_digest: rows at most */
  top_n?: number | null
  /** Of scan_digest: how often, aligned to UTC */
  cadence?: ('1h' | '4h' | '1d') | null
  /** Attempts a second at most */
  max_per_second?: number | null
  in_order?: boolean
  /** Signals after this: `now`, a position, or an ISO 8601 instant, at most 30 days back */
  start?: string
}
export interface CreateWebhook {
  id: string
  url: string
  events: ('trade_call' | 'regime_shift' | 'scan_digest')[]
  /** Null: all */
  timeframes: Timeframe[] | null
  /** Null: all */
  assets: string[] | null
  /** Null: all */
  exchanges: Exchange[] | null
  min_confidence: number
  min_strength: number
  only_changes: boolean
  /** Of scan_digest; null without it */
  timeframe: Timeframe | null
  exchange: Exchange | null
  top_n: number | null
  cadence: ('1h' | '4h' | '1d') | null
  /** Null: as many as it takes */
  max_per_second: number | null
  /** One after the other */
  in_order: boolean
  /** `stopped`: by the operator */
  state: 'active' | 'paused' | 'disabled' | 'stopped'
  /** Why it is paused, disabled or stopped */
  reason: string | null
  state_since: string
  created_at: string
  /** Signals after `position` are numbered from `sequence` on */
  cursor: {
    position: string
    sequence: number
  }
  last_attempt_at: string | null
  last_success_at: string | null
  /** Attempts since the newest success */
  failures_in_a_row: number
  /** The first of five failures in a row or more; it is probed since */
  failing_since: string | null
  /** Deliveries that wait for another try */
  retries_open: number
  /** When the next attempt is due; null if none is */
  next_attempt_at: string | null
  counts: {
    delivered: number
    /** Attempts, not deliveries */
    failed: number
    /** Deliveries that were given up */
    exhausted: number
    /** Deliveries that a move of the cursor gave up */
    skipped: number
  }
  /** Secrets that sign each delivery; several while a rotation overlaps */
  secrets_signing: number
  /** Why deliveries wait; what of the filter never matches */
  warnings: string[]
  /** Signs deliveries. It is not shown again */
  secret: string
}
export interface ListWebhooksRequest {
  /** `active`: those that are paused included; `disabled`; `all` */
  status?: 'active' | 'disabled' | 'all'
  /** Those after these: the `next` of the answer before */
  after?: string
  /** Rows at most */
  limit?: number
}
export interface ListWebhooks {
  /** In the order of their creation */
  webhooks: WebhookSubscription[]
  /** How many are disabled or stopped; `?status=disabled` lists them */
  needs_review: number
  /** Give it as `after` for the rows after these; null at the end */
  next: string | null
}
export interface WebhookSubscription {
  id: string
  url: string
  events: ('trade_call' | 'regime_shift' | 'scan_digest')[]
  /** Null: all */
  timeframes: Timeframe[] | null
  /** Null: all */
  assets: string[] | null
  /** Null: all */
  exchanges: Exchange[] | null
  min_confidence: number
  min_strength: number
  only_changes: boolean
  /** Of scan_digest; null without it */
  timeframe: Timeframe | null
  exchange: Exchange | null
  top_n: number | null
  cadence: ('1h' | '4h' | '1d') | null
  /** Null: as many as it takes */
  max_per_second: number | null
  /** One after the other */
  in_order: boolean
  /** `stopped`: by the operator */
  state: 'active' | 'paused' | 'disabled' | 'stopped'
  /** Why it is paused, disabled or stopped */
  reason: string | null
  state_since: string
  created_at: string
  /** Signals after `position` are numbered from `sequence` on */
  cursor: {
    position: string
    sequence: number
  }
  last_attempt_at: string | null
  last_success_at: string | null
  /** Attempts since the newest success */
  failures_in_a_row: number
  /** The first of five failures in a row or more; it is probed since */
  failing_since: string | null
  /** Deliveries that wait for another try */
  retries_open: number
  /** When the next attempt is due; null if none is */
  next_attempt_at: string | null
  counts: {
    delivered: number
    /** Attempts, not deliveries */
    failed: number
    /** Deliveries that were given up */
    exhausted: number
    /** Deliveries that a move of the cursor gave up */
    skipped: number
  }
  /** Secrets that sign each delivery; several while a rotation overlaps */
  secrets_signing: number
  /** Why deliveries wait; what of the filter never matches */
  warnings: string[]
}
export interface GetWebhookRequest {
  id: string
}
export interface DeleteWebhook {
  /** The `id` of the subscription */
  id: string
  deleted: true
}
export interface ResumeWebhookRequest {
  /** Go on where it stopped, leave out what lies between, or begin after `since` */
  from?: 'cursor' | 'now' | 'since'
  /** A position or an instant; with `from: "since"` */
  since?: string
  id: string
}
export interface RotateWebhookSecretRequest {
  /** How long the secrets before it sign beside it */
  overlap_hours?: number
  id: string
}
export interface RotateWebhookSecret {
  /** Signs `X-Service-Signature-Next` until `overlap_until` */
  secret: string
  /** Until when those before it sign beside it */
  overlap_until: string
}
export interface TestWebhookRequest {
  event?: 'trade_call' | 'regime_shift' | 'scan_digest'
  id: string
}
export interface TestWebhook {
  delivery_id: string
  event: 'trade_call' | 'regime_shift' | 'scan_digest'
  /** Whether the endpoint answered with a status from 200 to 299 */
  accepted: boolean
  outcome: 'answered' | 'connect_failed' | 'timed_out' | 'broken_off' | 'url_refused' | 'aborted'
  /** Null where there was no answer */
  status: number | null
  latency_ms: number
  /** The first bytes of the answer, or what went wrong */
  detail: string
}
export interface ListWebhookDeliveriesRequest {
  /** Those after these: the `next` of the answer before */
  after?: string
  /** Rows at most */
  limit?: number
  /** Only attempts that ended so */
  result?: 'delivered' | 'failed' | 'exhausted' | 'skipped'
  id: string
}
export interface ListWebhookDeliveries {
  /** Newest first */
  attempts: {
    delivery_id: string
    sequence: number
    /** Null while your endpoint has never taken a delivery */
    event_id: string | null
    /** From 1; probes of a failing endpoint do not count; 0 if nothing was sent */
    attempt: number
    at: string
    duration_ms: number
    result: 'delivered' | 'failed' | 'exhausted' | 'skipped'
    status: number | null
    reason: string | null
    /** First bytes of the answer, or what went wrong */
    detail: string | null
    /** When it is tried again */
    next_at: string | null
  }[]
  /** Give it as `after` for the rows after these; null at the end */
  next: string | null
}
export interface RecoverWebhookRequest {
  /** Retries deliveries given up at this instant or later, oldest first */
  since: string
  id: string
}
export interface RecoverWebhook {
  /** How many that were given up are tried again */
  deliveries: number
}
export interface Bars {
  /** Exchange code */
  exchange: Exchange
  /** Coin symbol, upper case letters and digits */
  coin: string
  /** Length of one bar; bars are aligned to UTC midnight */
  timeframe: Timeframe
  /** simulated: its prices are made up; recorded: replayed from files; live */
  market: 'simulated' | 'recorded' | 'live'
  /** Where the bars come from */
  source: string
  /** First open that was asked for */
  from: number
  /** Bars open before this instant */
  to: number
  /** Closed bars in the order of their open time */
  bars: {
    openTime: number
    open: number
    high: number
    low: number
    close: number
    volume: number
  }[]
  /** Open of the first missing bar, and of the next that is there */
  gaps: {
    from: number
    to: number
  }[]
  /** Settlements in the same time, oldest first */
  funding: {
    time: number
    rate: number
    intervalHours: number
  }[]
  /** Give it as `after` for the rows after these; null at the end */
  next: string | null
}
export interface Payment {
  id: string
  state: 'owed' | 'settling' | 'broadcast' | 'unknown' | 'confirmed' | 'final' | 'uncollectable' | 'refunded'
  /** direct: a transfer on the chain; gateway: a credit at the payment gateway */
  rail: 'direct' | 'gateway'
  /** A tool, or plans/{tier} */
  product: string
  payer: string
  /** USDC, decimal, as in 0.02 */
  amount_usdc: string
  /** USDC, decimal, as in 0.02 */
  refunded_usdc: string
  /** Whether the answer left before the money was there */
  is_served_first: boolean
  /** The transaction that settles it; on the gateway rail, its name there */
  transaction: string | null
  /** Number of its block */
  block: number | null
  /** Why the newest attempt came to nothing, or why nothing ever will */
  reason: string | null
  claimed_at: string
  /** When the newest thing happened to it */
  changed_at: string
  /** When its authorization ends */
  valid_until: string
  next_step: string
}
export interface TrackRecord {
  notice: string
  /** Position in the log up to which outcomes are counted */
  as_of: string
  rows: {
    model_version: string
    /** null where series are pooled */
    exchange: Exchange | null
    coin: string | null
    /** Length of one bar; bars are aligned to UTC midnight */
    timeframe: Timeframe
    /** Close of the earliest bar; null where no verdict counts */
    from: string | null
    /** Close of the latest bar */
    to: string | null
    /** Labelled verdicts, HOLD included, without those of `recorded_late` */
    verdicts: number
    calls: {
      BUY: number
      SELL: number
      HOLD: number
    }
    /** How the races of all verdicts ended */
    races: {
      up: number
      down: number
      both: number
      timeout: number
      incomplete: number
    }
    /** How the races of BUY and SELL ended */
    spoken_races: {
      up: number
      down: number
      both: number
      timeout: number
      incomplete: number
    }
    /** Mean squared error over races that one barrier won; 0.25 is a coin */
    brier: number | null
    brier_races: number
    /** The same over BUY and SELL */
    brier_spoken: number | null
    brier_spoken_races: number
    /** Mean distance of `said` and `happened` over `reliability` */
    calibration_error: number | null
    reliability: {
      /** Lowest probability of the likelier side */
      from: number
      /** All below it; the last row has no other end than 1 */
      to: number
      races: number
      /** Of each series those whose windows do not overlap */
      non_overlapping: number
      /** Mean probability of the likelier side */
      said: number
      /** Share of races that it won */
      happened: number
    }[]
    /** Every BUY and SELL; their windows overlap */
    spoken: {
      calls: number
      reached: number
      wins: number
      /** Basis points per call, 12 for entering and leaving taken off */
      net_mean_bps: number | null
    }
    /** Of each series the BUY and SELL whose windows do not overlap */
    non_overlapping: {
      calls: number
      /** Races that reached a barrier; one bar that touched both is lost */
      reached: number
      wins: number
      win_rate: {
        value: number
        low: number
        high: number
      } | null
      /** Calls whose return is known: all but incomplete ones */
      trades: number
      /** Of `trades`: races that reached no barrier, which `win_rate` leaves out */
      timed_out: number
      /** Share of `trades` that ended in favour */
      in_favour: {
        value: number
        low: number
        high: number
      } | null
      /** Basis points per call, before costs */
      gross_mean_bps: number | null
      /** Basis points per call, 12 for entering and leaving taken off */
      net_mean_bps: number | null
      /** Half the 95 % interval of either mean; null below 5 blocks */
      mean_margin_bps: number | null
      /** Standard errors that the mean is away from 0, by blocks of time */
      t: number | null
      /** Blocks of 50 windows with a trade */
      blocks: number
    }
    /** On the bars of `non_overlapping` */
    baselines: {
      always_buy: {
        win_rate: number | null
        /** Share of `trades` that ended in favour, time-outs too */
        in_favour: number | null
        /** Basis points per call, before costs */
        gross_mean_bps: number | null
        /** Basis points per call, 12 for entering and leaving taken off */
        net_mean_bps: number | null
      }
      always_sell: {
        win_rate: number | null
        /** Share of `trades` that ended in favour, time-outs too */
        in_favour: number | null
        /** Basis points per call, before costs */
        gross_mean_bps: number | null
        /** Basis points per call, 12 for entering and leaving taken off */
        net_mean_bps: number | null
      }
      random: {
        win_rate: number | null
        /** Share of `trades` that ended in favour, time-outs too */
        in_favour: number | null
        /** Basis points per call, before costs */
        gross_mean_bps: number | null
        /** Basis points per call, 12 for entering and leaving taken off */
        net_mean_bps: number | null
      }
    }
    /** How far the price was to go, and how far it went */
    ranges: {
      /** Verdicts with a range whose window closed with all its bars */
      forecasts: number
      /** Of each series those whose windows do not overlap */
      non_overlapping: number
      /** Share of returns within p10 and p90, which is to be 0.8 */
      coverage_80: {
        value: number
        low: number
        high: number
      } | null
      /** The same of p25 and p75, which is to be 0.5 */
      coverage_50: number | null
      /** Share of returns below p10, which is to be 0.1 */
      below: number | null
      /** Share of returns above p90 */
      above: number | null
      /** Mean pinball loss of p10 and p90, in basis points */
      pinball_bps: number | null
    }
    /** Recorded after the first bar of their race closed; in no other figure */
    recorded_late: {
      BUY: number
      SELL: number
      HOLD: number
    }
    /** Bars without a verdict in front of one whose outcome is labelled */
    bars_missed: number
  }[]
  /** How each model does of late; on the first page, and as the newest outcomes have it */
  speech: {
    model_version: string
    /** Length of one bar; bars are aligned to UTC midnight */
    timeframe: Timeframe
    /** `silent`: it never calls, for want of skill; `withdrawn`: no calls for now */
    state: 'calls' | 'silent' | 'withdrawn'
    /** Why no calls are made; null where they are */
    reason: string | null
    /** Since which bars it is so; null where calls were never withdrawn */
    since: string | null
    /** Days that a model is judged by: 180 up to 15m, 730 from 30m on */
    window_days: number
    /** AUC of the forecasts over `window_days`; null for too few outcomes */
    auc_180d: number | null
    races_180d: number
    /** Days below 0.505, or from 0.515 if withdrawn; 14 change the state */
    days_running: number
  }[]
  /** Give it as `after` for the rows after these; null at the end */
  next: string | null
}
export interface Verdict {
  /** Where to go on after this row: give it as `after` */
  cursor: string
  verdict_id: string
  /** Exchange code */
  exchange: Exchange
  /** Coin symbol, upper case letters and digits */
  coin: string
  /** Length of one bar; bars are aligned to UTC midnight */
  timeframe: Timeframe
  /** ISO 8601, UTC */
  bar_close: string
  /** ISO 8601, UTC */
  valid_until: string
  /** ISO 8601, UTC */
  recorded_at: string
  /** Composite verdict */
  call: Call
  /** 100 × the calibrated probability of the likelier barrier */
  confidence: number
  /** 0–100 percentile, for ranking only */
  strength: number
  /** Probability that +1σ is reached before −1σ, given that one of them is */
  probability: number
  /** Market regime: a description, not a forecast */
  regime: Regime
  /** ISO 8601, UTC */
  regime_since: string
  regime_strength: number
  volatility_percentile: number
  price: number
  /** Distance of either barrier, as a fraction of the price */
  barrier: number
  factors: {
    name: string
    value: number | null
    contribution: number
    status: 'measured' | 'unavailable'
  }[]
  reasoning: string
  model_version: string
  /** ISO 8601, UTC */
  anchor_bar: string
  inputs_hash: string
  /** Regime of the verdict before if another; else empty */
  shifted_from: Regime | ''
  /** Bars between this and the verdict before that have no verdict */
  bars_missed: number
  /** live: before the first bar of its window had closed. backfill: afterwards, when the past of the market was computed; what it foretells was not known to the model, but it was over. late: after a fault or a pause; it counts for nothing */
  recorded_as: 'live' | 'backfill' | 'late'
  /** Quantiles of the window's return: how far, not which way; null in a still market */
  expected_range: {
    p10: number
    p25: number
    p50: number
    p75: number
    p90: number
  } | null
  /** Standard deviation of it, heavy-tailed; null likewise */
  expected_volatility: number | null
  /** End of its window, or when it was recorded if that was later */
  visible_at: string
  /** Close of the bar that decided its race; null if none did */
  decided_at: string | null
  /** Which barrier came first; null without an outcome */
  race: ('up' | 'down' | 'both' | 'timeout' | 'incomplete') | null
  /** Open of the first bar of the window; null where that bar is missing */
  entry_price: number | null
  /** Price at which the race ended; null if that is not known */
  exit_price: number | null
  /** Close of the last bar of the window; null where bars are missing */
  close_price: number | null
  /** `decided_at`, or the close of the last bar of the window */
  exit_at: string | null
  /** Return in basis points, after costs of 12; null for HOLD or missing bars */
  net_bps: number | null
}
