"""Client of the signal service: tools, webhooks, replays and proofs. It needs Python 3.9 or later and nothing else.

    from signal_client import SignalClient

    signals = SignalClient("https://signals.example.com", api_key="sk_live_...")
    print(signals.get_trade_call(coin="BTC", timeframe="1h")["call"])
"""

import base64
import gzip
import hashlib
import hmac
import http.client
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
import zlib
from datetime import datetime
from typing import Any, Dict, Iterator

from .answers import (
    Bars,
    Chat,
    CreateWebhook,
    FundingScan,
    KnowledgeSearch,
    ListWebhookDeliveries,
    ListWebhooks,
    MarketRegime,
    Payment,
    RecoverWebhook,
    RegimeShifts,
    RotateWebhookSecret,
    TestWebhook,
    TrackRecord,
    TradeCall,
    TradeScan,
    Verdict,
    WebhookSubscription,
)

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
    "overloaded",
}
# Rows are taken as they come, and a page that is cut off goes on at its cursor.
PAGE_ROWS = 50_000
# Whoever asks to be left alone for longer is not waited for.
LONGEST_WAIT_SECONDS = 30
# Bytes of an answer, and of a line of one that has rows; both have some thousands.
LONGEST_ANSWER = 16_777_216
# Bytes that are taken at a time, where so many are there.
BLOCK = 262_144
# The step of a refusal `given_up`.
GIVEN_UP_STEP = (
    "Check the address of the service and its /readyz, then call again in {seconds:.0f} s. "
    "The call that was given up may have been counted."
)
LOST_STEP = "Ask whether the change was made, and send it again where it was not."
# Tools that act again with each call: where an answer was lost, nobody but you can decide.
ONCE = {"create_webhook", "rotate_webhook_secret", "test_webhook"}
RECONNECT_SECONDS = 1
# Longer than any list of the service.
MOST_PAGES = 10_000
CUT_OFF = (OSError, EOFError, zlib.error, http.client.HTTPException, json.JSONDecodeError)
# On one machine no line is spared, and packing takes longer than sending.
SAME_MACHINE = {"localhost", "127.0.0.1", "::1"}


class Refusal(Exception):
    """A refusal of the service: `code` for programs, `next_step` for people."""

    def __init__(self, code, message, next_step=None, details=None):
        super().__init__(f"{code}: {message}")
        self.code = code
        self.next_step = next_step
        self.details = details


class _Passing(Exception):
    """A failure that a later try may not meet."""

    def __init__(self, message, wait_seconds=None, code=None, details=None):
        super().__init__(message)
        self.wait_seconds = wait_seconds
        self.code = code
        self.details = details


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A key is for the service that it was given for, wherever that one points."""

    def redirect_request(self, *_):
        return None


class SignalClient:
    """A client of one service. `on_retry(reason, seconds)` is told of failures behind which the same is tried again."""

    def __init__(self, url, api_key=None, tries=5, timeout_seconds=30, on_retry=None, sleep=time.sleep):
        self.url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._tries = tries
        self._timeout = timeout_seconds
        self._on_retry = on_retry or (lambda reason, seconds: None)
        self._sleep = sleep
        self._opener = urllib.request.build_opener(_NoRedirect)

    def get_trade_call(self, coin, **request) -> TradeCall:
        """BUY, SELL or HOLD for a coin: timeframe, exchange, include_factors."""
        return self.call("get_trade_call", coin=coin, **request)

    def get_market_regime(self, coin, **request) -> MarketRegime:
        """The regime of a coin's market: timeframe, exchange."""
        return self.call("get_market_regime", coin=coin, **request)

    def scan_trade_calls(self, **request) -> TradeScan:
        """The calls of the largest coins, ranked: exchange, timeframe, top_n, limit, rank_by, lens and so on."""
        return self.call("scan_trade_calls", **request)

    def scan_funding_arb(self, **request) -> FundingScan:
        """Pairs of exchanges whose funding differs: min_net_bps, holding_hours, limit, coins, taker_fee_bps."""
        return self.call("scan_funding_arb", **request)

    def search_knowledge(self, query, **request) -> KnowledgeSearch:
        """Sections of the documentation that fit some words: limit."""
        return self.call("search_knowledge", query=query, **request)

    def chat_knowledge(self, question, **request) -> Chat:
        """Answers a question about the service from its documentation: model."""
        return self.call("chat_knowledge", question=question, **request)

    def get_regime_shifts(self, coin, **request) -> RegimeShifts:
        """When the regime of a coin shifted: timeframe, exchange, limit, after."""
        return self.call("get_regime_shifts", coin=coin, **request)

    def create_webhook(self, events, **request) -> CreateWebhook:
        """Subscribes `url` to signals: timeframes, assets, exchanges, min_strength, only_changes and so on."""
        return self.call("create_webhook", events=events, **request)

    def list_webhooks(self, **request) -> ListWebhooks:
        """The subscriptions of the account: status, after, limit."""
        return self.call("list_webhooks", **request)

    def get_webhook(self, id) -> WebhookSubscription:
        """One subscription, and how it stands."""
        return self.call("get_webhook", id=id)

    def delete_webhook(self, id) -> Dict[str, Any]:
        """Removes it for good."""
        return self.call("delete_webhook", id=id)

    def pause_webhook(self, id) -> WebhookSubscription:
        """Sends nothing until it is resumed; nothing is lost."""
        return self.call("pause_webhook", id=id)

    def resume_webhook(self, id, start="cursor", **request) -> WebhookSubscription:
        """Goes on where it stopped (`cursor`), from `now`, or with `start="since"` after the instant `since`."""
        return self.call("resume_webhook", id=id, **{"from": start}, **request)

    def rotate_webhook_secret(self, id, **request) -> RotateWebhookSecret:
        """A new signing secret, shown this once: overlap_hours."""
        return self.call("rotate_webhook_secret", id=id, **request)

    def test_webhook(self, id, **request) -> TestWebhook:
        """Sends a sample now (event), and says what the endpoint answered."""
        return self.call("test_webhook", id=id, **request)

    def list_webhook_deliveries(self, id, **request) -> ListWebhookDeliveries:
        """Attempts, newest first: after, limit, result."""
        return self.call("list_webhook_deliveries", id=id, **request)

    def recover_webhook(self, id, since) -> RecoverWebhook:
        """Tries again what a webhook gave up since an instant."""
        return self.call("recover_webhook", id=id, since=since)

    def markets(self, **query) -> Dict[str, Any]:
        """Coins and timeframes that can be asked for: exchange, coin, after, limit."""
        return self._route("GET /api/markets", query)

    def bars(self, exchange, coin, timeframe, start, end) -> Bars:
        """The bars that verdicts stand on, from one instant to another."""
        query = {"exchange": exchange, "coin": coin, "timeframe": timeframe, "start": start, "end": end}
        return self._route("GET /api/bars", query)

    def track_record(self, **query) -> TrackRecord:
        """How calls came out, beside chance: exchange, coin, timeframe, model_version, group_by, after, limit."""
        return self._route("GET /api/track-record", query)

    def track_record_months(self, **query) -> Dict[str, Any]:
        """The same by month: timeframe."""
        return self._route("GET /api/track-record/months", query)

    def track_record_coins(self, **query) -> Dict[str, Any]:
        """The same by coin: timeframe, after, limit."""
        return self._route("GET /api/track-record/coins", query)

    def regime_shifts(self, exchange, coin, timeframe, **query) -> RegimeShifts:
        """Shifts of a regime with longer pages than the tool has: after, limit."""
        return self._route("GET /api/regime-shifts", dict(query, exchange=exchange, coin=coin, timeframe=timeframe))

    def series_history(self, exchange, coin, timeframe, **query) -> Dict[str, Any]:
        """Verdicts of a series with their outcomes, newest first: after, limit."""
        fields = dict(query, exchange=exchange, coin=coin, timeframe=timeframe)
        return self._route("GET /api/series/:exchange/:coin/:timeframe", fields)

    def board(self, **query) -> Dict[str, Any]:
        """The newest calls, as the first page shows them."""
        return self._route("GET /api/board", query)

    def sealed_days(self, **query) -> Dict[str, Any]:
        """Days that never change any more, as files: exchange, after, limit."""
        return self._route("GET /sealed", query)

    def verify_verdict(self, verdict_id) -> Dict[str, Any]:
        """A verdict as it was recorded, with its hash and its outcome."""
        return self._route("GET /verify/:verdict_id", {"verdict_id": verdict_id})

    def proof(self, verdict_id) -> str:
        """The proof of a verdict, for `check_proof`."""
        return self.raw(f"/log/proof/{_segment(verdict_id)}").decode()

    def state(self) -> Dict[str, Any]:
        """Whether the service is ready; also where it is not."""

        def once():
            try:
                with self._open("/readyz", "application/json") as response:
                    return _read_json(response)
            except (_Passing, Refusal) as error:
                if not error.details:
                    raise
                return error.details

        return self._persist(once)

    def sign_in(self, email) -> Dict[str, Any]:
        """Has a code sent to an address."""
        return self._route("POST /api/sign-in", {"email": email})

    def confirm_sign_in(self, email, code, **body) -> Dict[str, Any]:
        """Gives the code; the answer has a key, which is shown this once."""
        return self._route("POST /api/sign-in/confirm", dict(body, email=email, code=code))

    def account(self) -> Dict[str, Any]:
        """The account of the key."""
        return self._route("GET /api/account", {})

    def usage(self, **query) -> Dict[str, Any]:
        """The calls left, and those that were made."""
        return self._route("GET /api/usage", query)

    def own_payments(self, **query) -> Dict[str, Any]:
        """Payments of the account: after, limit."""
        return self._route("GET /api/payments", query)

    def keys(self) -> Dict[str, Any]:
        """The keys of the account, without their secret part."""
        return self._route("GET /api/keys", {})

    def issue_key(self, **body) -> Dict[str, Any]:
        """Another key, shown this once: label."""
        return self._route("POST /api/keys", body)

    def revoke_key(self, id) -> None:
        """Revokes a key."""
        return self._route("DELETE /api/keys/:id", {"id": id})

    def change_webhook(self, id, **change) -> WebhookSubscription:
        """Changes the filter of a subscription, for signals from now on."""
        return self._route("PATCH /api/webhooks/:id", dict(change, id=id))

    def webhook_retries(self, id) -> Dict[str, Any]:
        """Deliveries that wait for another try."""
        return self._route("GET /api/webhooks/:id/retries", {"id": id})

    def webhook_events(self, id, **query) -> Dict[str, Any]:
        """Pulls what was tried, after a number: after, limit."""
        return self._route("GET /api/webhooks/:id/events", dict(query, id=id))

    def get(self, path, **query) -> Any:
        """An answer of the service as JSON; `/openapi.json` names the paths. `start` and `end` are its `from` and `to`."""
        text = _query(query)
        address = path + ("?" + text if text else "")

        def once():
            with self._open(address, "application/json") as response:
                return _read_json(response)

        return self._persist(once)

    def raw(self, path) -> bytes:
        """An answer as it came, for example a tile of the transparency log."""

        def once():
            with self._open(path, "*/*") as response:
                return _read_whole(response)

        return self._persist(once)

    def pages(self, path, **query) -> Iterator[Any]:
        """The pages of a list, to its last one."""
        seen = set()
        while True:
            page = self.get(path, **query)
            yield page
            onward = page.get("next")
            if onward is None:
                return
            if onward in seen or len(seen) == MOST_PAGES:
                raise Refusal("unreadable", f"{path} has no end")
            seen.add(onward)
            query["after"] = onward

    def post(self, path, body) -> Any:
        """Sends a change, which is sent again only where a limit refused it."""
        return self._change("POST", path, body)

    def delete(self, path) -> None:
        """Deletes what is at a path."""
        self._change("DELETE", path, None)

    def _route(self, route, fields):
        method, template = route.split(" ")
        left = dict(fields)
        path = re.sub(r":(\w+)", lambda name: _segment(left.pop(name[1])), template)
        return self.get(path, **left) if method == "GET" else self._change(method, path, left)

    def _change(self, method, path, body):
        headers = {} if body is None or method == "DELETE" else {"Content-Type": "application/json"}
        data = json.dumps(body).encode() if headers else None

        def once():
            with self._open(path, "application/json", headers, data, method) as response:
                return None if response.status == 204 else _read_json(response)

        return self._persist(once, is_once=True)

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

        return self._persist(once, name in ONCE)

    def payment(self, payment_id) -> Payment:
        """State of a payment by the id in `_service.payment`: whether it is settled."""
        return self._route("GET /x402/payments/:id", {"id": payment_id})

    def replay(self, **filters) -> Iterator[Verdict]:
        """Recorded verdicts in the order of the log, to its end: exchange, coin, timeframe, call, start, end, after."""
        after = filters.pop("after", None)
        failures = 0
        while True:
            query = _query(filters, after=after, limit=PAGE_ROWS)
            coding = {} if urllib.parse.urlsplit(self.url).hostname in SAME_MACHINE else {"Accept-Encoding": "gzip"}
            response = self._persist(lambda q=query: self._open(f"/api/verdicts?{q}", "application/x-ndjson", coding))
            count, is_whole = 0, True
            with response:
                go_on = response.headers.get("X-Next-Cursor")
                try:
                    for line in _lines(_unpacked(response)):
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

    def follow(self, **filters) -> Iterator[Verdict]:
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

    def _persist(self, once, is_once=False):
        attempt = 0
        while True:
            attempt += 1
            try:
                return once()
            except _Passing as error:
                if is_once and error.code != "rate_limited":
                    raise Refusal(error.code or "given_up", str(error), LOST_STEP, error.details) from error
                seconds = error.wait_seconds
                if seconds is None:
                    seconds = min(LONGEST_WAIT_SECONDS, 0.25 * 2**attempt)
                if attempt >= self._tries or seconds > LONGEST_WAIT_SECONDS:
                    raise Refusal("given_up", str(error), GIVEN_UP_STEP.format(seconds=seconds)) from error
                self._on_retry(str(error), seconds)
                self._sleep(seconds)

    def _open(self, path, accept, headers=None, body=None, method=None):
        all_headers = {"Accept": accept, **self._headers, **(headers or {})}
        request = urllib.request.Request(self.url + path, body, all_headers, method=method)
        try:
            return self._opener.open(request, timeout=self._timeout)
        except urllib.error.HTTPError as error:
            with error:
                raise _failure_of(error) from error
        except CUT_OFF as error:
            raise _Passing(f"no answer from {self.url}: {getattr(error, 'reason', error)}") from error


def _segment(value):
    # With dots alone it would be another path.
    if value in ("", ".", ".."):
        raise ValueError(f"{value!r} is no id")
    return urllib.parse.quote(value, safe="")


def _query(filters, **more):
    names = {"start": "from", "end": "to"}
    fields = {names.get(name, name): value for name, value in {**filters, **more}.items() if value is not None}
    return urllib.parse.urlencode({name: _text(value) for name, value in fields.items()})


def _text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, (list, tuple)) else value


def _read(response):
    body = response.read(LONGEST_ANSWER + 1)
    if len(body) > LONGEST_ANSWER:
        raise _too_long()
    return body


def _unpacked(response):
    is_packed = response.headers.get("Content-Encoding") == "gzip"
    return gzip.GzipFile(fileobj=response) if is_packed else response


def _lines(response):
    rest = b""
    while True:
        block = response.read1(BLOCK)
        *lines, rest = (rest + block).split(b"\n")
        if len(rest) > LONGEST_ANSWER:
            raise _too_long()
        yield from lines
        if not block:
            if rest:
                yield rest
            return


def _too_long():
    return Refusal("unreadable", f"more than {LONGEST_ANSWER} bytes: is this the address?")


def _read_whole(response):
    try:
        return _read(response)
    except CUT_OFF as error:
        raise _Passing(f"the answer was cut off: {error}") from error


def _read_json(response):
    try:
        return json.loads(_read_whole(response))
    except json.JSONDecodeError as error:
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
    if error.code in (429, 503) or code in PASSING or (error.code >= 500 and code is None):
        passing_code = "rate_limited" if error.code == 429 else code
        return _Passing(f"{code or 'refused'}: {message}", seconds, passing_code, refused)
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
        wait = (refused.get("details") or {}).get("retry_after_s")
        raise _Passing(f"{code}: {refused.get('message')}", wait, code, refused)
    raise Refusal(code, refused.get("message"), refused.get("next_step"), refused)


# Members of rows that are instants.
TIMES = (
    "bar_close",
    "valid_until",
    "recorded_at",
    "regime_since",
    "anchor_bar",
    "visible_at",
    "decided_at",
    "exit_at",
    "created_at",
)


def _instant(text):
    return text and datetime.fromisoformat(text.replace("Z", "+00:00"))


def to_df(rows, library="pandas"):
    """Rows, as those of replay() or of an answer, as a table of pandas or of "polars"; times are instants in UTC."""
    rows = list(rows)
    if library == "polars":
        import polars

        made = [{name: _instant(value) if name in TIMES else value for name, value in row.items()} for row in rows]
        frame = polars.DataFrame(made, infer_schema_length=None)
        times = [polars.col(name).cast(polars.Datetime("us", "UTC")) for name in TIMES if name in frame.columns]
        return frame.with_columns(times)
    import pandas

    frame = pandas.DataFrame(rows)
    for name in TIMES:
        if name in frame:
            frame[name] = pandas.to_datetime(frame[name], utc=True)
    if "openTime" in frame:
        frame["openTime"] = pandas.to_datetime(frame["openTime"], unit="ms", utc=True)
    return frame


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
    if "" in secrets:
        raise WebhookInvalid("a secret is empty, and everybody could sign with it")
    expected = [
        hmac.new(one.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest().encode() for one in secrets
    ]
    if not any(hmac.compare_digest(one, given.encode()) for one in expected for given in signatures):
        raise WebhookInvalid("the signature does not fit the secret, the time and the body")
    try:
        webhook = json.loads(body)
    except ValueError as error:
        raise WebhookInvalid("it is signed, but is no JSON") from error
    if not isinstance(webhook, dict) or not {"event", "delivery_id"} <= set(webhook):
        raise WebhookInvalid("it is signed, but is no delivery")
    for name, member in (("x-service-event", "event"), ("x-service-delivery", "delivery_id")):
        if values.get(name, webhook.get(member)) != webhook.get(member):
            raise WebhookInvalid(f"{name} differs from the body")
    return webhook


class ProofInvalid(Exception):
    """A proof that shows nothing."""


KINDS = {
    "LogBegun": 0,
    "VerdictRecorded": 1,
    "OutcomeLabelled": 2,
    "ModelAnnounced": 4,
    "MonitoringChanged": 5,
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
