"""A controller for Hummingbot that opens positions on the calls of the signal service.

It asks for the call of each closed bar once, and gives Hummingbot 1 for BUY, -1 for SELL and 0 otherwise; orders, barriers
and amounts are Hummingbot's. README.md beside this file says how to use it. What a call says is information, not advice.
"""

import logging
from datetime import datetime
from typing import List, Optional

import pandas as pd
from hummingbot.strategy_v2.controllers.directional_trading_controller_base import (
    DirectionalTradingControllerBase,
    DirectionalTradingControllerConfigBase,
)
from signal_client import Refusal
from signal_client.aio import AsyncSignalClient

log = logging.getLogger(__name__)

SIDES = {"BUY": 1, "SELL": -1}
SHOWN = ("coin", "call", "confidence", "strength", "regime", "price", "bar_close", "valid_until")
# Least wait before another call, after one that failed or brought no newer bar; a twentieth of a bar where that is longer.
AGAIN_SECONDS = 30


def at(text: str) -> float:
    """Unix seconds of an instant of the service."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class SignalRecordConfig(DirectionalTradingControllerConfigBase):
    controller_name: str = "signal_record"
    candles_config: List = []
    service_url: str = "https://signals.example.com"
    api_key: Optional[str] = None
    # Whose verdicts are followed; the exchange that is traded on is `connector_name`.
    exchange: str = "BINANCE"
    bar: str = "1h"
    # From 0 to 100.
    least_strength: int = 50


class SignalRecord(DirectionalTradingControllerBase):
    def __init__(self, config: SignalRecordConfig, *args, **kwargs):
        super().__init__(config, *args, **kwargs)
        self.signals = AsyncSignalClient(config.service_url, config.api_key, tries=2)
        self.answer: Optional[dict] = None
        self.asked_for = ""
        self.next_at = 0.0

    async def update_processed_data(self) -> None:
        """Called about once a second; asks only when a bar has closed since the last answer."""
        now = self.market_data_provider.time()
        if now >= self.next_at:
            await self._ask(now)
        features = pd.DataFrame() if self.answer is None else pd.DataFrame([{name: self.answer[name] for name in SHOWN}])
        self.processed_data = {"signal": self._signal(now), "features": features}

    def can_create_executor(self, signal: int) -> bool:
        """One position for each call: a call that lasts for bars opens no other while Hummingbot's limits would allow it."""
        if self.answer is None or self.answer["verdict_id"] == self.asked_for:
            return False
        if not super().can_create_executor(signal):
            return False
        self.asked_for = self.answer["verdict_id"]
        return True

    def _signal(self, now: float) -> int:
        """0 also for a call that is too weak, and for one whose window has closed."""
        answer = self.answer
        if answer is None or answer["strength"] < self.config.least_strength or now >= at(answer["valid_until"]):
            return 0
        return SIDES.get(answer["call"], 0)

    async def _ask(self, now: float) -> None:
        coin = self.config.trading_pair.split("-")[0]
        bar_seconds = pd.Timedelta(self.config.bar).total_seconds()
        # Each call costs one of the quota, also where the verdict is late.
        self.next_at = now + max(AGAIN_SECONDS, bar_seconds / 20)
        try:
            self.answer = await self.signals.get_trade_call(
                coin=coin, timeframe=self.config.bar, exchange=self.config.exchange
            )
        except Refusal as refusal:
            log.warning("There is no new call of %s: %s %s", coin, refusal, refusal.next_step or "")
            return
        # The bar after this one closes then, and its verdict is there a moment later.
        self.next_at = max(self.next_at, at(self.answer["bar_close"]) + bar_seconds + 2)
