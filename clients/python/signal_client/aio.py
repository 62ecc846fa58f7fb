"""The same client for asyncio: every call is awaited, and rows come by `async for`. It needs Python 3.9 and nothing else.

    from signal_client.aio import AsyncSignalClient

    signals = AsyncSignalClient("https://signals.example.com", api_key="sk_live_...")
    answer = await signals.get_trade_call(coin="BTC", timeframe="1h")
    async for verdict in signals.follow(coin="BTC"):
        print(verdict["bar_close"], verdict["call"])

Each call runs in a thread, so that the event loop goes on meanwhile.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from itertools import islice
from typing import TYPE_CHECKING, AsyncIterator, Awaitable, Callable, Iterator, TypeVar

from . import SignalClient

if TYPE_CHECKING:
    from typing import Concatenate, ParamSpec

    P = ParamSpec("P")

T = TypeVar("T")


def _awaited(
    method: Callable[Concatenate[SignalClient, P], T],
) -> Callable[Concatenate[AsyncSignalClient, P], Awaitable[T]]:
    @functools.wraps(method)
    def run(self, *args, **fields):
        return _in_thread(functools.partial(method, self.client, *args, **fields))

    return run


def _iterated(
    method: Callable[Concatenate[SignalClient, P], Iterator[T]], at_once: int
) -> Callable[Concatenate[AsyncSignalClient, P], AsyncIterator[T]]:
    @functools.wraps(method)
    async def run(self, *args, **fields):
        rows = method(self.client, *args, **fields)
        while True:
            some = await _in_thread(lambda: list(islice(rows, at_once)))
            for row in some:
                yield row
            if len(some) < at_once:
                return

    return run


async def _in_thread(work):
    """In a daemon thread: one that waits for a row holds up neither a cancelled task nor the end of the program."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def settle(answer, error):
        if done.done():
            return
        if error is None:
            done.set_result(answer)
        else:
            done.set_exception(error)

    def run():
        answer = error = None
        try:
            answer = work()
        except Exception as failure:  # whatever it is, the one who awaits gets it
            error = failure
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, answer, error)

    threading.Thread(target=run, daemon=True).start()
    return await done


class AsyncSignalClient:
    """Takes what `SignalClient` takes."""

    def __init__(self, url, api_key=None, **options):
        self.client = SignalClient(url, api_key, **options)

    get_trade_call = _awaited(SignalClient.get_trade_call)
    get_market_regime = _awaited(SignalClient.get_market_regime)
    scan_trade_calls = _awaited(SignalClient.scan_trade_calls)
    scan_funding_arb = _awaited(SignalClient.scan_funding_arb)
    search_knowledge = _awaited(SignalClient.search_knowledge)
    chat_knowledge = _awaited(SignalClient.chat_knowledge)
    get_regime_shifts = _awaited(SignalClient.get_regime_shifts)
    create_webhook = _awaited(SignalClient.create_webhook)
    list_webhooks = _awaited(SignalClient.list_webhooks)
    get_webhook = _awaited(SignalClient.get_webhook)
    delete_webhook = _awaited(SignalClient.delete_webhook)
    pause_webhook = _awaited(SignalClient.pause_webhook)
    resume_webhook = _awaited(SignalClient.resume_webhook)
    rotate_webhook_secret = _awaited(SignalClient.rotate_webhook_secret)
    test_webhook = _awaited(SignalClient.test_webhook)
    list_webhook_deliveries = _awaited(SignalClient.list_webhook_deliveries)
    replay_webhook_deliveries = _awaited(SignalClient.replay_webhook_deliveries)
    cancel_webhook_replay = _awaited(SignalClient.cancel_webhook_replay)
    markets = _awaited(SignalClient.markets)
    bars = _awaited(SignalClient.bars)
    track_record = _awaited(SignalClient.track_record)
    track_record_months = _awaited(SignalClient.track_record_months)
    track_record_coins = _awaited(SignalClient.track_record_coins)
    regime_shifts = _awaited(SignalClient.regime_shifts)
    series_history = _awaited(SignalClient.series_history)
    board = _awaited(SignalClient.board)
    sealed_days = _awaited(SignalClient.sealed_days)
    verify_verdict = _awaited(SignalClient.verify_verdict)
    proof = _awaited(SignalClient.proof)
    status = _awaited(SignalClient.status)
    state = _awaited(SignalClient.state)
    sign_in = _awaited(SignalClient.sign_in)
    confirm_sign_in = _awaited(SignalClient.confirm_sign_in)
    account = _awaited(SignalClient.account)
    usage = _awaited(SignalClient.usage)
    payment = _awaited(SignalClient.payment)
    own_payments = _awaited(SignalClient.own_payments)
    keys = _awaited(SignalClient.keys)
    issue_key = _awaited(SignalClient.issue_key)
    revoke_key = _awaited(SignalClient.revoke_key)
    change_webhook = _awaited(SignalClient.change_webhook)
    webhook_delivery = _awaited(SignalClient.webhook_delivery)
    webhook_days = _awaited(SignalClient.webhook_days)
    webhook_retries = _awaited(SignalClient.webhook_retries)
    webhook_events = _awaited(SignalClient.webhook_events)
    dry_run_webhook = _awaited(SignalClient.dry_run_webhook)
    call = _awaited(SignalClient.call)
    get = _awaited(SignalClient.get)
    post = _awaited(SignalClient.post)
    delete = _awaited(SignalClient.delete)
    pages = _iterated(SignalClient.pages, 1)
    replay = _iterated(SignalClient.replay, 500)
    follow = _iterated(SignalClient.follow, 1)
