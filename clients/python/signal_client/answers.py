"""Made by `npm run docs` from the schemas that the service checks by."""

from typing import List, Literal, Optional, TypedDict, Union

Timeframe = Literal["1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "8h", "12h", "1d"]
Call = Literal["BUY", "SELL", "HOLD"]
Regime = Literal["TRENDING_UP", "TRENDING_DOWN", "RANGING", "VOLATILE"]
Exchange = Literal["SIM", "BINANCE", "BYBIT", "OKX", "BITGET", "HL", "GATE", "KUCOIN", "MEXC", "BINGX", "HTX", "PHEMEX", "ASTER", "WHITEBIT", "XT"]


class _ServiceBlockAuth(TypedDict):
    outcome: Literal["OK", "ABSENT", "MALFORMED", "UNKNOWN", "INDETERMINATE"]
    tier: Literal["free", "starter", "pro"]


class ServiceBlockAuth(_ServiceBlockAuth, total=False):
    note: str


class ServiceBlockQuotaDaily(TypedDict):
    remaining: int
    limit: int
    used: int
    resets_at: str


class ServiceBlockQuota(TypedDict):
    remaining: int
    limit: int
    used: int
    resets_at: str
    daily: Optional[ServiceBlockQuotaDaily]


class ServiceBlockPayment(TypedDict):
    id: str
    state: Literal["owed", "settling", "broadcast", "unknown", "confirmed", "final", "uncollectable", "refunded"]
    amount_usdc: str
    transaction: Optional[str]
    status_url: str
    secret: str


class _ServiceBlock(TypedDict):
    version: str
    tool: str
    request_id: str
    market: Literal["simulated", "recorded", "live"]
    auth: ServiceBlockAuth
    quota: Optional[ServiceBlockQuota]
    notice: str


class ServiceBlock(_ServiceBlock, total=False):
    payment: ServiceBlockPayment


class BarsBars(TypedDict):
    openTime: int
    open: float
    high: float
    low: float
    close: float
    volume: float


BarsGaps = TypedDict("BarsGaps", {
    "from": int,
    "to": int,
})


class BarsFunding(TypedDict):
    time: int
    rate: float
    intervalHours: float


Bars = TypedDict("Bars", {
    "exchange": Exchange,
    "coin": str,
    "timeframe": Timeframe,
    "market": Literal["simulated", "recorded", "live"],
    "source": str,
    "from": int,
    "to": int,
    "bars": List[BarsBars],
    "gaps": List[BarsGaps],
    "funding": List[BarsFunding],
    "next": Optional[str],
})


class Payment(TypedDict):
    id: str
    state: Literal["owed", "settling", "broadcast", "unknown", "confirmed", "final", "uncollectable", "refunded"]
    rail: Literal["direct", "gateway"]
    product: str
    payer: str
    amount_usdc: str
    refunded_usdc: str
    is_served_first: bool
    transaction: Optional[str]
    block: Optional[int]
    reason: Optional[str]
    claimed_at: str
    changed_at: str
    valid_until: str
    next_step: str


class TrackRecordRowsCalls(TypedDict):
    BUY: int
    SELL: int
    HOLD: int


class TrackRecordRowsRaces(TypedDict):
    up: int
    down: int
    both: int
    timeout: int
    incomplete: int


class TrackRecordRowsSpokenRaces(TypedDict):
    up: int
    down: int
    both: int
    timeout: int
    incomplete: int


TrackRecordRowsReliability = TypedDict("TrackRecordRowsReliability", {
    "from": float,
    "to": float,
    "races": int,
    "non_overlapping": int,
    "said": float,
    "happened": float,
})


class TrackRecordRowsSpoken(TypedDict):
    calls: int
    reached: int
    wins: int
    net_mean_bps: Optional[float]


class TrackRecordRowsNonOverlappingWinRate(TypedDict):
    value: float
    low: float
    high: float


class TrackRecordRowsNonOverlappingInFavour(TypedDict):
    value: float
    low: float
    high: float


class TrackRecordRowsNonOverlapping(TypedDict):
    calls: int
    reached: int
    wins: int
    win_rate: Optional[TrackRecordRowsNonOverlappingWinRate]
    trades: int
    timed_out: int
    in_favour: Optional[TrackRecordRowsNonOverlappingInFavour]
    gross_mean_bps: Optional[float]
    net_mean_bps: Optional[float]
    mean_margin_bps: Optional[float]
    t: Optional[float]
    blocks: int


class TrackRecordRowsBaselinesAlwaysBuy(TypedDict):
    win_rate: Optional[float]
    in_favour: Optional[float]
    gross_mean_bps: Optional[float]
    net_mean_bps: Optional[float]


class TrackRecordRowsBaselinesAlwaysSell(TypedDict):
    win_rate: Optional[float]
    in_favour: Optional[float]
    gross_mean_bps: Optional[float]
    net_mean_bps: Optional[float]


class TrackRecordRowsBaselinesRandom(TypedDict):
    win_rate: Optional[float]
    in_favour: Optional[float]
    gross_mean_bps: Optional[float]
    net_mean_bps: Optional[float]


class TrackRecordRowsBaselines(TypedDict):
    always_buy: TrackRecordRowsBaselinesAlwaysBuy
    always_sell: TrackRecordRowsBaselinesAlwaysSell
    random: TrackRecordRowsBaselinesRandom


class TrackRecordRowsRangesCoverage80(TypedDict):
    value: float
    low: float
    high: float


class TrackRecordRowsRanges(TypedDict):
    forecasts: int
    non_overlapping: int
    coverage_80: Optional[TrackRecordRowsRangesCoverage80]
    coverage_50: Optional[float]
    below: Optional[float]
    above: Optional[float]
    pinball_bps: Optional[float]


class TrackRecordRowsRecordedLate(TypedDict):
    BUY: int
    SELL: int
    HOLD: int


TrackRecordRows = TypedDict("TrackRecordRows", {
    "model_version": str,
    "exchange": Optional[Exchange],
    "coin": Optional[str],
    "timeframe": Timeframe,
    "from": Optional[str],
    "to": Optional[str],
    "verdicts": int,
    "calls": TrackRecordRowsCalls,
    "races": TrackRecordRowsRaces,
    "spoken_races": TrackRecordRowsSpokenRaces,
    "brier": Optional[float],
    "brier_races": int,
    "brier_spoken": Optional[float],
    "brier_spoken_races": int,
    "calibration_error": Optional[float],
    "reliability": List[TrackRecordRowsReliability],
    "spoken": TrackRecordRowsSpoken,
    "non_overlapping": TrackRecordRowsNonOverlapping,
    "baselines": TrackRecordRowsBaselines,
    "ranges": TrackRecordRowsRanges,
    "recorded_late": TrackRecordRowsRecordedLate,
    "bars_missed": int,
})


class TrackRecordSpeech(TypedDict):
    model_version: str
    timeframe: Timeframe
    state: Literal["calls", "silent", "withdrawn"]
    reason: Optional[str]
    since: Optional[str]
    window_days: int
    auc_180d: Optional[float]
    races_180d: int
    days_running: int


class TrackRecord(TypedDict):
    notice: str
    as_of: str
    rows: List[TrackRecordRows]
    speech: List[TrackRecordSpeech]
    next: Optional[str]


class VerdictFactors(TypedDict):
    name: str
    value: Optional[float]
    contribution: float
    status: Literal["measured", "unavailable"]


class VerdictExpectedRange(TypedDict):
    p10: float
    p25: float
    p50: float
    p75: float
    p90: float


class Verdict(TypedDict):
    cursor: str
    verdict_id: str
    exchange: Exchange
    coin: str
    timeframe: Timeframe
    bar_close: str
    valid_until: str
    recorded_at: str
    call: Call
    confidence: int
    strength: int
    probability: float
    regime: Regime
    regime_since: str
    regime_strength: int
    volatility_percentile: float
    price: float
    barrier: float
    factors: List[VerdictFactors]
    reasoning: str
    model_version: str
    anchor_bar: str
    inputs_hash: str
    shifted_from: Union[Regime, Literal[""]]
    bars_missed: int
    recorded_as: Literal["live", "backfill", "late"]
    expected_range: Optional[VerdictExpectedRange]
    expected_volatility: Optional[float]
    visible_at: str
    decided_at: Optional[str]
    race: Optional[Literal["up", "down", "both", "timeout", "incomplete"]]
    entry_price: Optional[float]
    exit_price: Optional[float]
    close_price: Optional[float]
    exit_at: Optional[str]
    net_bps: Optional[float]


class WebhookSubscriptionCursor(TypedDict):
    position: str
    sequence: int


class WebhookSubscriptionCounts(TypedDict):
    delivered: int
    failed: int
    exhausted: int
    skipped: int


class WebhookSubscription(TypedDict):
    id: str
    url: str
    events: List[Literal["trade_call", "regime_shift", "scan_digest"]]
    timeframes: Optional[List[Timeframe]]
    assets: Optional[List[str]]
    exchanges: Optional[List[Exchange]]
    min_confidence: int
    min_strength: int
    only_changes: bool
    timeframe: Optional[Timeframe]
    exchange: Optional[Exchange]
    top_n: Optional[int]
    cadence: Optional[Literal["1h", "4h", "1d"]]
    max_per_second: Optional[int]
    in_order: bool
    state: Literal["active", "paused", "disabled", "stopped"]
    reason: Optional[str]
    state_since: str
    created_at: str
    cursor: WebhookSubscriptionCursor
    last_attempt_at: Optional[str]
    last_success_at: Optional[str]
    failures_in_a_row: int
    failing_since: Optional[str]
    retries_open: int
    next_attempt_at: Optional[str]
    counts: WebhookSubscriptionCounts
    secrets_signing: int
    warnings: List[str]


class TradeCallExpectedRange(TypedDict):
    p10: float
    p25: float
    p50: float
    p75: float
    p90: float


class TradeCallFactors(TypedDict):
    name: str
    value: Optional[float]
    contribution: float
    status: Literal["measured", "unavailable"]


class _TradeCall(TypedDict):
    call: Call
    confidence: int
    strength: int
    regime: Regime
    coin: str
    timeframe: Timeframe
    exchange: Exchange
    probability: float
    barrier: float
    expected_range: Optional[TradeCallExpectedRange]
    expected_volatility: Optional[float]
    price: float
    bar_close: str
    valid_until: str
    verdict_id: str
    model_version: str
    factors: List[TradeCallFactors]
    reasoning: str
    verify_url: str
    data_age_ms: int
    _service: "ServiceBlock"


class TradeCall(_TradeCall, total=False):
    unconfirmed: Literal[True]


class MarketRegimeMetrics(TypedDict):
    rsi: Optional[float]
    adx: Optional[float]
    plus_di: Optional[float]
    minus_di: Optional[float]
    atr_percent: Optional[float]
    ema_gap_atr: Optional[float]
    realised_volatility: Optional[float]


class _MarketRegime(TypedDict):
    call: Call
    confidence: int
    regime: Regime
    regime_since: str
    regime_strength: int
    volatility_percentile: float
    metrics: MarketRegimeMetrics
    coin: str
    timeframe: Timeframe
    exchange: Exchange
    bar_close: str
    verdict_id: str
    verify_url: str
    data_age_ms: int
    _service: "ServiceBlock"


class MarketRegime(_MarketRegime, total=False):
    direction: Literal["DOWN", "NONE", "UP"]
    liveliness: Optional[float]
    percentile_bars: int


class TradeScanCallsExpectedRange(TypedDict):
    p10: float
    p25: float
    p50: float
    p75: float
    p90: float


class TradeScanCalls(TypedDict):
    rank: int
    coin: str
    call: Call
    confidence: int
    strength: int
    regime: Regime
    price: float
    change_24h: Optional[float]
    quote_volume_24h: float
    lens_value: Optional[float]
    bar_close: str
    valid_until: str
    expected_range: Optional[TradeScanCallsExpectedRange]
    expected_volatility: Optional[float]
    verdict_id: str
    verify_url: str


class TradeScanErrors(TypedDict):
    coin: str
    code: str
    message: str


class TradeScan(TypedDict):
    exchange: Exchange
    timeframe: Timeframe
    completed_at: str
    universe_ranked_at: str
    calls: List[TradeScanCalls]
    scanned: int
    holds: int
    errors: List[TradeScanErrors]
    lens_note: Optional[str]
    note: Optional[str]
    _service: "ServiceBlock"


class FundingScanOpportunitiesLong(TypedDict):
    exchange: Exchange
    contract: str
    coins_per_unit: int
    side: Literal["long", "short"]
    rate: float
    interval_hours: float
    annualised: float
    settled_at: str
    next_funding: str


class FundingScanOpportunitiesShort(TypedDict):
    exchange: Exchange
    contract: str
    coins_per_unit: int
    side: Literal["long", "short"]
    rate: float
    interval_hours: float
    annualised: float
    settled_at: str
    next_funding: str


class FundingScanOpportunities(TypedDict):
    rank: int
    coin: str
    long: FundingScanOpportunitiesLong
    short: FundingScanOpportunitiesShort
    annualised_gross: float
    expected_annualised: float
    net_expected_bps: float
    break_even_hours: Optional[float]
    persistence: float
    history_days: int


class FundingScan(TypedDict):
    completed_at: str
    holding_hours: int
    fees_bps: float
    opportunities: List[FundingScanOpportunities]
    pairs_compared: int
    pairs_too_short: int
    pairs_unconfirmed: int
    markets_stale: int
    venues: List[Exchange]
    note: Optional[str]
    _service: "ServiceBlock"


class KnowledgeSearchResults(TypedDict):
    id: str
    title: str
    url: str
    excerpt: str
    score: float


class KnowledgeSearch(TypedDict):
    query: str
    total: int
    results: List[KnowledgeSearchResults]


class ChatCitations(TypedDict):
    id: str
    title: str
    url: str
    excerpt: str


class ChatQuota(TypedDict):
    remaining: int
    limit: int
    used: int
    resets_at: str


class Chat(TypedDict):
    question: str
    answer: str
    citations: List[ChatCitations]
    model: str
    note: Optional[str]
    quota: ChatQuota


class RegimeShiftsRows(TypedDict):
    exchange: Exchange
    coin: str
    timeframe: Timeframe
    bar_close: str
    regime: Regime
    prior_regime: Regime
    confidence: int
    verdict_id: str


class RegimeShifts(TypedDict):
    notice: str
    as_of: str
    rows: List[RegimeShiftsRows]
    next: Optional[str]


class CreateWebhookCursor(TypedDict):
    position: str
    sequence: int


class CreateWebhookCounts(TypedDict):
    delivered: int
    failed: int
    exhausted: int
    skipped: int


class CreateWebhook(TypedDict):
    id: str
    url: str
    events: List[Literal["trade_call", "regime_shift", "scan_digest"]]
    timeframes: Optional[List[Timeframe]]
    assets: Optional[List[str]]
    exchanges: Optional[List[Exchange]]
    min_confidence: int
    min_strength: int
    only_changes: bool
    timeframe: Optional[Timeframe]
    exchange: Optional[Exchange]
    top_n: Optional[int]
    cadence: Optional[Literal["1h", "4h", "1d"]]
    max_per_second: Optional[int]
    in_order: bool
    state: Literal["active", "paused", "disabled", "stopped"]
    reason: Optional[str]
    state_since: str
    created_at: str
    cursor: CreateWebhookCursor
    last_attempt_at: Optional[str]
    last_success_at: Optional[str]
    failures_in_a_row: int
    failing_since: Optional[str]
    retries_open: int
    next_attempt_at: Optional[str]
    counts: CreateWebhookCounts
    secrets_signing: int
    warnings: List[str]
    secret: str


class ListWebhooks(TypedDict):
    webhooks: List["WebhookSubscription"]
    needs_review: int
    next: Optional[str]


class DeleteWebhook(TypedDict):
    id: str
    deleted: Literal[True]


class RotateWebhookSecret(TypedDict):
    secret: str
    overlap_until: str


class TestWebhook(TypedDict):
    delivery_id: str
    event: Literal["trade_call", "regime_shift", "scan_digest"]
    accepted: bool
    outcome: Literal["answered", "connect_failed", "timed_out", "broken_off", "url_refused", "aborted"]
    status: Optional[int]
    latency_ms: float
    detail: str


class ListWebhookDeliveriesAttempts(TypedDict):
    delivery_id: str
    sequence: int
    event_id: Optional[str]
    attempt: int
    at: str
    duration_ms: float
    result: Literal["delivered", "failed", "exhausted", "skipped"]
    status: Optional[int]
    reason: Optional[str]
    detail: Optional[str]
    next_at: Optional[str]


class ListWebhookDeliveries(TypedDict):
    attempts: List[ListWebhookDeliveriesAttempts]
    next: Optional[str]


class RecoverWebhook(TypedDict):
    deliveries: int
