"""Client of the signal service: tools, webhooks, replays and proofs. It needs Python 3.9 or later and nothing else.

    from signal_client import SignalClient

    signals = SignalClient("https://signals.example.com", api_key="sk_live_...")
    print(signals.get_trade_call(coin="BTC", timeframe="1h")["call"])
"""

import base64
import hashlib
import hmac
import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from typing import Dict, List, Optional, TypedDict

PASSING = {
    "engine_unavailable",
    "series_loading",
    "stale_market_data",
    "venue_unavailable",
    "store_unavailable",
    "outcome_unknown",
    "append_unknown",
    "rate_limited",
    "key_unverifiable",
    "position_unknown",
    "read_model_behind",
}
PAGE_ROWS = 1_000
# Whoever asks to be left alone for longer is not waited for.
LONGEST_WAIT_SECONDS = 30
# Bytes of an answer, and of a line of one that has rows; both have some thousands.
LONGEST_ANSWER = 16_777_216
# The step of a refusal `given_up`.
GIVEN_UP_STEP = (
    "Check the address of the service and its /readyz, then call again in {seconds:.0f} s. "
    "The call that was given up may have been counted."
)
RECONNECT_SECONDS = 1
CUT_OFF = (OSError, http.client.HTTPException, json.JSONDecodeError)


class Refusal(Exception):
    """A refusal of the service: `code` for programs, `next_step` for people."""

    def __init__(self, code, message, next_step=None, details=None):
        super().__init__(f"{code}: {message}")
        self.code = code
        self.next_step = next_step
        self.details = details


class _Passing(Exception):
    """A failure that a later try may not meet."""

    def __init__(self, message, wait_seconds=None):
        super().__init__(message)
        self.wait_seconds = wait_seconds


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A key is for the service that it was given for, wherever that one points."""

    def redirect_request(self, *_):
        return None


class ExpectedRange(TypedDict):
    """Quantiles of the return of a verdict's window, as fractions: how far, not which way."""

    p10: float
    p25: float
    p50: float
    p75: float
    p90: float


class Factor(TypedDict):
    """A measured value, and its exact share of the log-odds."""

    name: str
    value: Optional[float]
    contribution: float
    status: str


class _Forecast(TypedDict):
    expected_range: Optional[ExpectedRange]
    expected_volatility: Optional[float]


class _Spoken(_Forecast):
    call: str
    confidence: int
    strength: int
    regime: str
    coin: str
    price: float
    bar_close: str
    valid_until: str
    verdict_id: str


class _Judged(_Spoken):
    timeframe: str
    exchange: str
    probability: float
    barrier: float
    model_version: str
    factors: List[Factor]
    reasoning: str


class _Odds(TypedDict, total=False):
    closes_higher: float
    odds: str


class TradeCall(_Judged, _Odds):
    """Answer of get_trade_call. `confidence` is 100 × the calibrated probability of the called side."""

    verify_url: str
    data_age_ms: int
    _service: dict


class MarketRegime(TypedDict):
    """Answer of get_market_regime."""

    call: str
    confidence: int
    regime: str
    regime_since: str
    regime_strength: int
    volatility_percentile: float
    metrics: Dict[str, Optional[float]]
    coin: str
    timeframe: str
    exchange: str
    bar_close: str
    verdict_id: str
    verify_url: str
    data_age_ms: int
    _service: dict


class ScanRow(_Spoken):
    """A call in an answer of scan_trade_calls."""

    rank: int
    change_24h: Optional[float]
    quote_volume_24h: float
    verify_url: str


class TradeScan(TypedDict):
    """Answer of scan_trade_calls."""

    exchange: str
    timeframe: str
    completed_at: str
    universe_ranked_at: str
    calls: List[ScanRow]
    scanned: int
    holds: int
    errors: List[Dict[str, str]]
    note: Optional[str]
    _service: dict


class FundingScan(TypedDict):
    """Answer of scan_funding_arb."""

    completed_at: str
    holding_hours: int
    fees_bps: float
    opportunities: List[dict]
    pairs_compared: int
    pairs_too_short: int
    markets_stale: int
    venues: List[str]
    note: Optional[str]
    _service: dict


class Verdict(_Judged):
    """A recorded verdict, as replay() and follow() yield it. `cursor` is where to go on behind it."""

    cursor: str
    recorded_at: str
    regime_since: str
    regime_strength: int
    volatility_percentile: float
    anchor_bar: str
    inputs_hash: str
    shifted_from: str
    bars_missed: int
    recorded_late: bool
    closes_higher: Optional[float]
    visible_at: str
    decided_at: Optional[str]


class Refund(TypedDict):
    """The refund of a payment, which comes without being asked for."""

    state: str
    amount_usdc: str
    cause: str
    why: Optional[str]
    transaction: Optional[str]
    begun_at: str


# `as` is a word of the language, and cannot be written as a member.
Refund.__annotations__["as"] = str


class _OfSome(TypedDict, total=False):
    credit_left_usdc: str
    receipt: Dict[str, str]


class Payment(_OfSome):
    """State of a payment. `credit_left_usdc` where it became a credit, `receipt` once there is something to prove."""

    id: str
    state: str
    rail: str
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
    refund: Optional[Refund]
    next_step: str


class SignalClient:
    """A client of one service. `on_retry(reason, seconds)` is told of failures behind which the same is tried again."""

    def __init__(self, url, api_key=None, tries=5, timeout_seconds=30, on_retry=None, sleep=time.sleep):
        self.url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._tries = tries
        self._timeout = timeout_seconds
        self._on_retry = on_retry or (lambda reason, seconds: None)
        self._sleep = sleep
        # Up to where the log holds what this client wrote: its reads wait for it.
        self._written = ""
        self._opener = urllib.request.build_opener(_NoRedirect)

    def get_trade_call(self, coin, **request) -> TradeCall:
        """BUY, SELL or HOLD for a coin: timeframe, exchange, include_factors."""
        return self.call("get_trade_call", coin=coin, **request)

    def get_market_regime(self, coin, **request) -> MarketRegime:
        """The regime of a coin's market: timeframe, exchange."""
        return self.call("get_market_regime", coin=coin, **request)

    def scan_trade_calls(self, **request) -> TradeScan:
        """The calls of the largest coins, ranked: exchange, timeframe, top_n, limit, rank_by and so on."""
        return self.call("scan_trade_calls", **request)

    def scan_funding_arb(self, **request) -> FundingScan:
        """Pairs of exchanges whose funding differs: min_net_bps, holding_hours, limit, coins, taker_fee_bps."""
        return self.call("scan_funding_arb", **request)

    def call(self, name, **request):
        """Asks a tool. However often it has to be sent, it is charged once, by one idempotency key."""
        headers = {
            "Content-Type": "application/json",
            "MCP-Protocol-Version": "2025-11-25",
            "Idempotency-Key": str(uuid.uuid4()),
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": request}}
        body = json.dumps(message).encode()

        def once():
            with self._open("/mcp", "application/json, text/event-stream", headers, body) as response:
                return _result_of(_read_json(response))

        return self._persist(once)

    def payment(self, payment_id) -> Payment:
        """State of a payment by the id in `_service.payment`: whether it is settled, and its refund."""
        path = f"/x402/payments/{urllib.parse.quote(payment_id, safe='')}"

        def once():
            with self._open(path, "application/json") as response:
                return _read_json(response)

        return self._persist(once)

    def replay(self, **filters):
        """Recorded verdicts in the order of the log, to its end: exchange, coin, timeframe, call, start, end, after."""
        after = filters.pop("after", None)
        failures = 0
        while True:
            query = _query(filters, after=after, limit=PAGE_ROWS)
            response = self._persist(lambda q=query: self._open(f"/api/verdicts?{q}", "application/x-ndjson"))
            count, is_whole = 0, True
            with response:
                go_on = response.headers.get("X-Next-Cursor")
                try:
                    for line in _lines(response):
                        if line.strip():
                            row = json.loads(line)
                            yield row
                            after = row["cursor"]
                            count += 1
                except CUT_OFF as error:
                    is_whole = False
                    failures = failures + 1 if count == 0 else 1
                    self._reconnect(f"the replay was cut off: {error}", failures)
            if is_whole:
                is_stuck = count == 0 and go_on == after
                if is_stuck or (count < PAGE_ROWS and go_on is None):
                    return
                after = go_on or after

    def follow(self, **filters):
        """Recorded verdicts as their windows close, without end; begins behind `after`, or now."""
        after = filters.pop("after", None)
        while True:
            query = _query(filters, after=after)
            response = self._persist(lambda q=query: self._open(f"/api/verdicts/stream?{q}", "text/event-stream"))
            event = b""
            with response:
                try:
                    for line in _lines(response):
                        if line.startswith(b"event: "):
                            event = line[7:].strip()
                        elif line.startswith(b"data: ") and event == b"verdict":
                            row = json.loads(line[6:])
                            yield row
                            after = row["cursor"]
                except CUT_OFF as error:
                    self._on_retry(f"the stream was cut off: {error}", RECONNECT_SECONDS)
            self._sleep(RECONNECT_SECONDS)

    def _reconnect(self, reason, failures):
        if failures >= self._tries:
            raise Refusal("given_up", reason, GIVEN_UP_STEP.format(seconds=RECONNECT_SECONDS))
        self._on_retry(reason, RECONNECT_SECONDS)
        self._sleep(RECONNECT_SECONDS)

    def _persist(self, once):
        for attempt in range(1, self._tries + 1):
            try:
                return once()
            except _Passing as error:
                seconds = error.wait_seconds
                if seconds is None:
                    seconds = min(LONGEST_WAIT_SECONDS, 0.25 * 2**attempt)
                if attempt == self._tries or seconds > LONGEST_WAIT_SECONDS:
                    raise Refusal("given_up", str(error), GIVEN_UP_STEP.format(seconds=seconds)) from error
                self._on_retry(str(error), seconds)
                self._sleep(seconds)

    def _open(self, path, accept, headers=None, body=None):
        if body is None and self._written:
            path += ("&" if "?" in path else "?") + urllib.parse.urlencode({"wait_for": self._written})
        request = urllib.request.Request(self.url + path, body, {"Accept": accept, **self._headers, **(headers or {})})
        try:
            response = self._opener.open(request, timeout=self._timeout)
            self._written = max(self._written, response.headers.get("X-Service-Position", ""), key=_order_of)
            return response
        except urllib.error.HTTPError as error:
            # A log that was set back since does not reach that far.
            if error.code == 409 and body is None:
                self._written = ""
            with error:
                raise _failure_of(error) from error
        except CUT_OFF as error:
            raise _Passing(f"no answer from {self.url}: {getattr(error, 'reason', error)}") from error


def _order_of(position):
    # One whole number, or two.
    return [part.zfill(20) for part in position.split("/")]


def _query(filters, **more):
    names = {"start": "from", "end": "to"}
    fields = {names.get(name, name): value for name, value in {**filters, **more}.items() if value is not None}
    return urllib.parse.urlencode(fields)


def _read(response):
    body = response.read(LONGEST_ANSWER + 1)
    if len(body) > LONGEST_ANSWER:
        raise _too_long()
    return body


def _lines(response):
    while True:
        line = response.readline(LONGEST_ANSWER + 1)
        if len(line) > LONGEST_ANSWER:
            raise _too_long()
        if not line:
            return
        yield line


def _too_long():
    return Refusal("unreadable", f"more than {LONGEST_ANSWER} bytes: is this the address?")


def _read_json(response):
    try:
        return json.loads(_read(response))
    except CUT_OFF as error:
        raise _Passing(f"the answer was cut off: {error}") from error


def _failure_of(error):
    wait = error.headers.get("Retry-After", "")
    seconds = float(wait) if wait.isdigit() else None
    try:
        refused = json.loads(_read(error))
    except CUT_OFF:
        refused = {}
    code = refused.get("code") if isinstance(refused, dict) else None
    message = refused.get("message", "") if code else f"HTTP {error.code}"
    if error.code == 429 or code in PASSING or (error.code >= 500 and code is None):
        return _Passing(f"{code or 'refused'}: {message}", seconds)
    return Refusal(code or f"http_{error.code}", message, code and refused.get("next_step"), refused)


def _result_of(answer):
    # First `error`, then `result.isError`: that is the order in which the protocol tells.
    error = answer.get("error")
    if error is not None:
        data = error.get("data") or {}
        if data.get("retryable"):
            raise _Passing(error["message"])
        raise Refusal(data.get("code", str(error["code"])), error["message"], data.get("next_step"))
    result = answer["result"]
    if not result.get("isError"):
        return result["structuredContent"]
    refused = result.get("structuredContent") or {"message": result["content"][0]["text"]}
    code = refused.get("code", "refused")
    if code in PASSING:
        raise _Passing(f"{code}: {refused.get('message')}", (refused.get("details") or {}).get("retry_after_s"))
    raise Refusal(code, refused.get("message"), refused.get("next_step"), refused)


class WebhookInvalid(Exception):
    """A delivery that is not to be trusted: answer 401 and do nothing else."""


def verify_webhook(secret, headers, body, now=None, tolerance_seconds=300):
    """The delivery, where its signature and time are sound.

    `secret` is the subscription's; while it is being rotated, a list of the old one and the new one. `body` is the bytes as
    they came: parsed and written again they may differ.
    """
    values = {}
    for name, value in headers.items():
        if name.lower() in values:
            raise WebhookInvalid(f"{name} came more than once")
        values[name.lower()] = value
    timestamp = values.get("x-service-timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        raise WebhookInvalid("X-Service-Timestamp is missing or no number")
    away = abs((time.time() if now is None else now) - int(timestamp))
    if away > tolerance_seconds:
        raise WebhookInvalid(f"it was sent {away:.0f} s away from this clock")
    signatures = [values.get("x-service-signature", ""), *values.get("x-service-signature-next", "").split(", ")]
    secrets = [secret] if isinstance(secret, str) else secret
    for one in secrets:
        expected = hmac.new(one.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
        if any(hmac.compare_digest(expected.encode(), given.encode()) for given in signatures):
            break
    else:
        raise WebhookInvalid("the signature does not fit the secret, the time and the body")
    webhook = json.loads(body)
    for name, member in (("x-service-event", "event"), ("x-service-delivery", "delivery_id")):
        if values.get(name, webhook.get(member)) != webhook.get(member):
            raise WebhookInvalid(f"{name} differs from the body")
    return webhook


class ProofInvalid(Exception):
    """A proof that shows nothing."""


KINDS = {
    "StoreInitialised": 0,
    "VerdictRecorded": 1,
    "OutcomeLabelled": 2,
    "VerdictsMissing": 3,
    "ModelAnnounced": 4,
    "MonitoringChanged": 5,
    "ChallengerVerdictRecorded": 6,
    "LogKeysPublished": 7,
    "DaySealed": 8,
}


def check_proof(text, vkeys):
    """Checks a proof file (C2SP tlog-proof) as /log/proof/ answers it, with nothing but Ed25519 keys.

    `vkeys` are lines of /log/vkeys, kept from a time when they were trusted. Answers the event, its index and the tree's size.
    """
    try:
        return _check_proof(text, vkeys)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise ProofInvalid(f"it is damaged: {error}") from error


def _check_proof(text, vkeys):
    head, _, note = text.partition("\n\n")
    first, extra, place, *hashes = head.split("\n")
    if first != "c2sp.org/tlog-proof@v1" or not extra.startswith("extra ") or not place.startswith("index "):
        raise ProofInvalid("it is no proof file")
    content_text = _bytes(extra[6:])
    index = int(place[6:])
    origin, size, root = _open_checkpoint(note, vkeys)
    content = json.loads(content_text)
    kind = KINDS[content["type"]]
    opens_at = content["data"].get("validUntil", 0) if kind in (1, 6) else 0
    entry = bytes([1, kind]) + opens_at.to_bytes(8, "big") + hashlib.sha256(content_text).digest()
    node = hashlib.sha256(b"\0" + entry).digest()
    at, last = index, size - 1
    if not 0 <= index < size or len(hashes) > 63:
        raise ProofInvalid("its index is not in the tree")
    for sibling in map(_bytes, hashes):
        if last == 0 or len(sibling) != 32:
            raise ProofInvalid("a hash of it is none, or one too many")
        if at % 2 == 1 or at == last:
            node = hashlib.sha256(b"\1" + sibling + node).digest()
            while at % 2 == 0 and at != 0:
                at, last = at // 2, last // 2
        else:
            node = hashlib.sha256(b"\1" + node + sibling).digest()
        at, last = at // 2, last // 2
    if last != 0 or node != root:
        raise ProofInvalid(f"the event is not entry {index} of the tree of {size}")
    return {"content": content, "origin": origin, "index": index, "size": size}


def _open_checkpoint(note, vkeys):
    body, _, signatures = note.rpartition("\n\n")
    body += "\n"
    origin, size, root = body.split("\n")[:3]
    keys = dict(filter(None, map(_read_vkey, vkeys)))
    signed = 0
    for line in signatures.split("\n"):
        if not line.startswith("\u2014 "):
            continue
        _, name, signature = line.split(" ")
        given = _bytes(signature)
        key = keys.get((name, given[:4]))
        if key is None:
            continue
        if not _is_ed25519(key, body.encode(), given[4:]):
            raise ProofInvalid(f"the signature of {name} does not fit it")
        signed += 1
    if signed == 0:
        raise ProofInvalid("none of the given keys has signed it")
    return origin, int(size), _bytes(root)


def _read_vkey(vkey):
    """None for a key of another type, and for one whose id is not its own."""
    name, key_id, data = vkey.strip().split("+", 2)
    key = _bytes(data)
    own = hashlib.sha256(name.encode() + b"\n" + key).digest()[:4]
    return ((name, own), key[1:]) if key[0] == 1 and len(key) == 33 and own.hex() == key_id else None


def _bytes(text):
    return base64.b64decode(text, validate=True)


# Ed25519 (RFC 8032, section 5.1), to check signatures only: nothing here is secret, so nothing has to take a constant time.
_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT = pow(2, (_P - 1) // 4, _P)


def _is_ed25519(key, message, signature):
    if len(signature) != 64:
        return False
    scalar = int.from_bytes(signature[32:], "little")
    public, commitment = _point(key), _point(signature[:32])
    if scalar >= _L or public is None or commitment is None:
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % _L
    left, right = _times(scalar, _BASE), _plus(commitment, _times(challenge, public))
    return (left[0] * right[2] - right[0] * left[2]) % _P == 0 and (left[1] * right[2] - right[1] * left[2]) % _P == 0


def _point(encoded):
    y = int.from_bytes(encoded, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    if y >= _P:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P != 0:
        x = x * _ROOT % _P
    if (x * x - square) % _P != 0 or (x == 0 and sign == 1):
        return None
    x = _P - x if x & 1 != sign else x
    return x, y, 1, x * y % _P


def _plus(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0])
    c, d = 2 * p[3] * q[3] * _D, 2 * p[2] * q[2]
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _times(scalar, point):
    total = (0, 1, 1, 0)
    while scalar > 0:
        if scalar & 1:
            total = _plus(total, point)
        point, scalar = _plus(point, point), scalar >> 1
    return total


_BASE = _point((4 * pow(5, -1, _P) % _P).to_bytes(32, "little"))
