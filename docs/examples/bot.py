"""A bot that asks for a trade call at every closed bar and prints what it says.

It needs Python 3.9 or later and nothing else:
  SIGNAL_API_KEY=sk_live_... python3 bot.py BTC 1h          one line for every bar, until it is stopped
  SIGNAL_API_KEY=sk_live_... python3 bot.py BTC 1h --once   one line
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid

SERVICE_URL = os.environ.get("SIGNAL_URL", "http://127.0.0.1:8402")
API_KEY = os.environ.get("SIGNAL_API_KEY")
TRIES = 5
# Somebody waits for one line; a bot that runs by itself can be more patient.
TRIES_ONCE = 3
TIMEOUT_SECONDS = 30
PASSING = {"engine_unavailable", "series_loading", "stale_market_data", "venue_unavailable", "store_unavailable"}


class Refusal(Exception):
    """A refusal that stays: its code, what happened, and what to do about it."""


class Passing(Exception):
    """A refusal that a later try may not meet."""

    def __init__(self, message, wait_seconds):
        super().__init__(message)
        self.wait_seconds = wait_seconds


def ask_tool(name, arguments, tries=TRIES):
    """Asks a tool. Sent again after a failure that passes, with the same key, it is charged once."""
    idempotency_key = str(uuid.uuid4())
    for attempt in range(1, tries + 1):
        try:
            return ask_once(name, arguments, idempotency_key)
        except Passing as error:
            what, wait_seconds = str(error), error.wait_seconds
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            what, wait_seconds = f"no answer from {SERVICE_URL}: {getattr(error, 'reason', error)}", 0.5 * 2**attempt
        if attempt == tries:
            raise Refusal(what)
        print(f"{what}; trying again in {wait_seconds:g} s", file=sys.stderr, flush=True)
        time.sleep(wait_seconds)


def ask_once(name, arguments, idempotency_key):
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-11-25",
        "Idempotency-Key": idempotency_key,
    }
    if API_KEY:
        headers["Authorization"] = f"Bearer {API_KEY}"
    params = {"name": name, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    request = urllib.request.Request(f"{SERVICE_URL}/mcp", json.dumps(message).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            answer = json.load(response)
    except urllib.error.HTTPError as error:
        text = error.read().decode(errors="replace")
        if error.code == 429 or error.code >= 500:
            raise Passing(text, float(error.headers.get("Retry-After", 2))) from error
        raise Refusal(f"HTTP {error.code}: {text}") from error
    # First `error`, then `result.isError`: that is the order in which the protocol tells.
    if "error" in answer:
        error = answer["error"]
        if (error.get("data") or {}).get("retryable"):
            raise Passing(error["message"], 2)
        raise Refusal(f"{error['code']}: {error['message']}")
    result = answer["result"]
    if result.get("isError"):
        refusal = result.get("structuredContent") or {}
        text = refusal.get("message") or result["content"][0]["text"]
        if refusal.get("code") in PASSING:
            raise Passing(text, 2)
        raise Refusal(f"{refusal.get('code', 'refused')}: {text} {refusal.get('next_step', '')}")
    return result["structuredContent"]


def until_next_bar(timeframe):
    """Seconds until the bar that is open now has closed, and a little for its verdict."""
    length = int(timeframe[:-1]) * {"m": 60, "h": 3_600, "d": 86_400}[timeframe[-1]]
    return length - time.time() % length + 5


def main(arguments):
    names = [one for one in arguments if not one.startswith("--")]
    if not names or len(names) > 2 or any(one not in ("--once",) for one in arguments if one.startswith("--")):
        print("usage: bot.py COIN [TIMEFRAME] [--once]     as in: bot.py BTC 1h", file=sys.stderr)
        sys.exit(2)
    coin, timeframe = (names + ["1h"])[:2]
    is_once = "--once" in arguments
    while True:
        question = {"coin": coin, "timeframe": timeframe, "include_factors": False}
        answer = ask_tool("get_trade_call", question, TRIES_ONCE if is_once else TRIES)
        service = answer["_service"]
        if API_KEY and service["auth"]["outcome"] != "OK":
            print(f"the key was not applied: {service['auth']['outcome']}", file=sys.stderr)
        left = f", {service['quota']['remaining']} calls left" if service["quota"] else ""
        print(
            f"{answer['bar_close']} {coin} {timeframe} {answer['call']} {answer['confidence']} % "
            f"{answer['regime']} at {answer['price']}{left}",
            flush=True,
        )
        # This is where a bot would act. The numbers are information, not advice: you decide what to risk.
        if is_once:
            return
        time.sleep(until_next_bar(timeframe))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Refusal as refusal:
        sys.exit(str(refusal))
