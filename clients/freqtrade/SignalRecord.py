"""A strategy for Freqtrade that trades on the record of the signal service, without looking ahead.

Every candle gets the newest verdict that was visible when it closed. README.md beside this file says how to use it. What
the record says is information, not advice: what this strategy does with it is an example.
"""

import json
import logging
import time
from pathlib import Path

import pandas as pd
from freqtrade.exceptions import OperationalException
from freqtrade.strategy import IStrategy
from signal_client import Refusal, SignalClient

log = logging.getLogger(__name__)

NUMBERS = ("confidence", "strength", "probability", "barrier")
TIMES = ("bar_close", "valid_until", "recorded_at", "visible_at")
KEPT = ("cursor", "call", "regime", *NUMBERS, *TIMES)


def extend_record(file: Path, signals: SignalClient, **series) -> None:
    """Adds to a file what was recorded since its last row: all of it, or nothing where the service or the machine fails."""
    kept = file.read_bytes() if file.exists() else b""
    after = json.loads(kept.splitlines()[-1])["cursor"] if kept else None
    rows = [{name: row[name] for name in KEPT} for row in signals.replay(after=after, **series)]
    part = file.with_suffix(".part")
    part.write_bytes(kept + b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    part.replace(file)


def read_record(file: Path, rows=()) -> pd.DataFrame:
    """The verdicts of a file, and rows that it does not hold yet."""
    verdicts = pd.DataFrame([*map(json.loads, file.read_bytes().splitlines()), *rows], columns=list(KEPT))
    for name in TIMES:
        verdicts[name] = pd.to_datetime(verdicts[name], utc=True).astype("datetime64[ns, UTC]")
    return verdicts


def with_verdicts(
    candles: pd.DataFrame, verdicts: pd.DataFrame, candle: str, bar: str, known_by: str = "visible_at"
) -> pd.DataFrame:
    """Candles with columns `signal_…`: of each, the newest verdict that was known when it closed.

    A verdict counts from the time in `known_by`, never from its bar. After two bars without another one it is forgotten, so
    that a gap in the record is no signal.
    """
    known = verdicts.sort_values([known_by, "bar_close"])
    # A verdict that became known late does not replace one about a later bar.
    known = known[known["bar_close"] >= known["bar_close"].cummax()]
    columns = {name: known[name].astype(float) for name in NUMBERS}
    columns.update({name: known[name].astype(object) for name in ("call", "regime")})
    columns.update({"bar_close": known["bar_close"], "known_at": known[known_by]})
    right = pd.DataFrame({f"signal_{name}": column for name, column in columns.items()})
    closes = (candles["date"] + pd.Timedelta(candle)).astype("datetime64[ns, UTC]")
    left, forgotten = closes.rename("closes").to_frame(), 2 * pd.Timedelta(bar)
    found = pd.merge_asof(left, right, left_on="closes", right_on="signal_known_at", tolerance=forgotten)
    return pd.concat([candles, found[list(right.columns)].set_axis(candles.index)], axis=1)


class SignalRecord(IStrategy):
    INTERFACE_VERSION = 3
    timeframe = "15m"
    can_short = False
    minimal_roi = {"0": 10}
    stoploss = -0.1
    process_only_new_candles = True
    startup_candle_count = 0

    # Verdicts of this timeframe, and how strong they must be, from 0 to 100, to be acted on.
    bar = "1h"
    least_strength = 50
    # Without a key a verdict is known when its window has closed. README.md says what the other choices are for.
    known_by = "visible_at"
    # In backtests a record is asked for again when it is older than this.
    record_hours = 1

    def bot_start(self, **_) -> None:
        self.asked = {}
        try:
            if self.config["signal_service"].get("api_key"):
                self._client("")[0].account()
        except Refusal as refusal:
            if refusal.code in ("unauthorized", "key_unknown"):
                raise OperationalException(f"the api_key of signal_service is refused: {refusal}") from refusal

    def populate_indicators(self, dataframe: pd.DataFrame, metadata: dict) -> pd.DataFrame:
        coin = metadata["pair"].split("/")[0]
        rows = self._ask(coin) if self._is_live() and self.known_by != "visible_at" else ()
        verdicts = read_record(self._record(coin), rows)
        return with_verdicts(dataframe, verdicts, self.timeframe, self.bar, self.known_by)

    def populate_entry_trend(self, dataframe: pd.DataFrame, metadata: dict) -> pd.DataFrame:
        is_strong = dataframe["signal_strength"] >= self.least_strength
        dataframe.loc[is_strong & (dataframe["signal_call"] == "BUY"), "enter_long"] = 1
        if self.can_short:
            dataframe.loc[is_strong & (dataframe["signal_call"] == "SELL"), "enter_short"] = 1
        return dataframe

    def populate_exit_trend(self, dataframe: pd.DataFrame, metadata: dict) -> pd.DataFrame:
        dataframe.loc[dataframe["signal_call"] != "BUY", "exit_long"] = 1
        if self.can_short:
            dataframe.loc[dataframe["signal_call"] != "SELL", "exit_short"] = 1
        return dataframe

    def _is_live(self) -> bool:
        return self.dp.runmode.value in ("live", "dry_run")

    def _client(self, coin: str):
        service = self.config["signal_service"]
        series = {"exchange": service["exchange"].upper(), "coin": coin, "timeframe": self.bar}
        return SignalClient(service["url"], service.get("api_key"), tries=3), series

    def _ask(self, coin: str) -> list:
        """The newest verdicts, which a caller has before everybody: one call of its quota for each bar."""
        rows = self.asked.setdefault(coin, [])
        now = pd.Timestamp.now("UTC")
        if rows and now < pd.Timestamp(rows[-1]["bar_close"]) + pd.Timedelta(self.bar):
            return rows
        signals, series = self._client(coin)
        try:
            answer = signals.get_trade_call(**series)
        except Refusal as refusal:
            log.warning("There is no new call of %s: %s %s", coin, refusal, refusal.next_step or "")
            return rows
        if not rows or answer["bar_close"] > rows[-1]["bar_close"]:
            rows.append({**answer, "recorded_at": f"{now:%Y-%m-%dT%H:%M:%S}.000Z"})
            del rows[:-3]
        return rows

    def _record(self, coin: str) -> Path:
        """The file of a coin's record in Freqtrade's data folder, brought up to date."""
        signals, series = self._client(coin)
        folder = Path(self.config["datadir"]) / "signal-service"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{series['exchange']}-{coin}-{self.bar}.ndjson"
        is_young = file.exists() and time.time() - file.stat().st_mtime < self.record_hours * 3_600
        if is_young and not self._is_live():
            return file
        try:
            extend_record(file, signals, **series)
        except Refusal as refusal:
            # A live bot soon forgets what it has. A backtest over half a record would be wrong without saying so.
            if not (self._is_live() and file.exists()):
                raise
            log.warning("The record of %s stays as it is: %s %s", coin, refusal, refusal.next_step or "")
        return file
