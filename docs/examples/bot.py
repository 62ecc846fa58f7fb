"""A bot that asks for a trade call at every closed bar and prints what it says.

It needs Python 3.9 or later and the client, signal_client.py, beside it or in clients/python:
  SIGNAL_API_KEY=sk_live_... python3 bot.py BTC 1h          one line for every bar, until it is stopped
  SIGNAL_API_KEY=sk_live_... python3 bot.py BTC 1h --once   one line
"""

import os
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "clients", "python"))
from signal_client import Refusal, SignalClient

API_KEY = os.environ.get("SIGNAL_API_KEY")


def tell(text):
    print(text, file=sys.stderr, flush=True)


def until_next_bar(timeframe):
    """Seconds until the bar that is open now has closed, and a little for its verdict."""
    length = int(timeframe[:-1]) * {"m": 60, "h": 3_600, "d": 86_400}[timeframe[-1]]
    return length - time.time() % length + 5


def main(arguments):
    names = [one for one in arguments if not one.startswith("--")]
    if not names or len(names) > 2 or any(one not in ("--once",) for one in arguments if one.startswith("--")):
        tell("usage: bot.py COIN [TIMEFRAME] [--once]     as in: bot.py BTC 1h")
        sys.exit(2)
    coin, timeframe = (names + ["1h"])[:2]
    is_once = "--once" in arguments
    signals = SignalClient(
        os.environ.get("SIGNAL_URL", "http://127.0.0.1:8402"),
        api_key=API_KEY,
        # Somebody waits for one line; a bot that runs by itself can be more patient.
        tries=3 if is_once else 5,
        on_retry=lambda what, seconds: tell(f"{what}; trying again in {seconds:g} s"),
    )
    is_first = True
    while True:
        # Sent again after a failure that passes, it is charged once: the client sees to that.
        answer = signals.get_trade_call(coin=coin, timeframe=timeframe, include_factors=False)
        service = answer["_service"]
        if API_KEY and service["auth"]["outcome"] != "OK":
            # It would go on with the free calls of this address, and end when those do.
            sys.exit(f"the key was not applied: {service['auth']['outcome']}. Check SIGNAL_API_KEY, or leave it out.")
        if is_first and answer["call"] == "HOLD" and answer["confidence"] == 50:
            tell(f"no call is made at {timeframe} for now: {answer['reasoning']}")
        is_first = False
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
        sys.exit(f"{refusal} {refusal.next_step or ''}")
