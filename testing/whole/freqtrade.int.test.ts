import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSignalClient } from '../../clients/typescript/src/index.ts'
import { type OwnService, startOwnService } from '../../services/composition/own-service.fixture.ts'
import { pythonWith } from './python.fixture.ts'

const CLIENTS = resolve(import.meta.dirname, '../../clients')
const PYTHON = pythonWith('pandas')
const reason = PYTHON === undefined ? ' (skipped: pandas is not installed)' : ''

/** Stands in for Freqtrade, which is not installed here: the strategy takes no more of it than this. */
const FREQTRADE = `
import json, os, random, sys, types
from pathlib import Path
class IStrategy:
    def __init__(self, config, runmode="backtest"):
        self.config, self.dp = config, types.SimpleNamespace(runmode=types.SimpleNamespace(value=runmode))
sys.modules["freqtrade"] = types.ModuleType("freqtrade")
sys.modules["freqtrade.strategy"] = types.SimpleNamespace(IStrategy=IStrategy)
class OperationalException(Exception):
    pass
sys.modules["freqtrade.exceptions"] = types.SimpleNamespace(OperationalException=OperationalException)
import pandas as pd
from SignalRecord import *
given = json.loads(sys.argv[1])
`

async function python(program: string, given: unknown): Promise<unknown> {
  const path = [join(CLIENTS, 'freqtrade'), join(CLIENTS, 'python')].join(':')
  const env = { PATH: process.env.PATH, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1' }
  const { stdout } = await promisify(execFile)(
    PYTHON ?? '',
    ['-c', `${FREQTRADE}${program}`, JSON.stringify(given)],
    { env },
  )
  return JSON.parse(stdout)
}

test('the strategy has at most 150 lines', () => {
  const text = readFileSync(join(CLIENTS, 'freqtrade/SignalRecord.py'), 'utf8')
  expect(text.split('\n').length).toBeLessThanOrEqual(150)
})

describe.skipIf(PYTHON === undefined)(`a strategy of Freqtrade${reason}`, () => {
  /** A market of so many candles, and verdicts that become visible late, in any order, some not at all in time. */
  const MARKET = `
def market(seed):
    chance = random.Random(seed)
    start = pd.Timestamp("2026-01-01", tz="UTC")
    candles = pd.DataFrame({"date": [start + pd.Timedelta(minutes=15 * at) for at in range(60)], "close": [1.0] * 60})
    rows = []
    for hour in range(-2, 15):
        if chance.random() < 0.2:
            continue
        closed = start + pd.Timedelta(hours=hour)
        visible = closed + pd.Timedelta(minutes=chance.choice([0, 1, 15, 60, 61, 300]))
        rows.append({"cursor": str(hour), "call": chance.choice(["BUY", "SELL", "HOLD"]), "regime": "RANGING",
                     "confidence": 50 + hour, "strength": chance.randrange(100), "probability": 0.5, "barrier": 0.01,
                     "bar_close": closed, "valid_until": closed, "recorded_at": closed, "visible_at": visible})
    chance.shuffle(rows)
    verdicts = pd.DataFrame(rows, columns=list(KEPT))
    for name in TIMES:
        verdicts[name] = pd.to_datetime(verdicts[name], utc=True).astype("datetime64[ns, UTC]")
    return candles, verdicts
def traded(candles, verdicts):
    strategy = SignalRecord({})
    frame = with_verdicts(candles, verdicts, "15m", "1h")
    for populate in (strategy.populate_entry_trend, strategy.populate_exit_trend):
        frame = populate(frame, {"pair": "BTC/USDT"})
    for name in ("enter_long", "exit_long"):
        frame[name] = frame[name] if name in frame else float("nan")
    return frame
`

  test('does not look ahead: what becomes visible after a time changes no column before it', async () => {
    const said = await python(
      `${MARKET}
checked = columns = 0
for seed in range(given, given + 25):
    candles, verdicts = market(seed)
    whole = traded(candles, verdicts)
    for at in range(0, 60, 7):
        now = candles["date"][at] + pd.Timedelta(minutes=15)
        known = traded(candles, verdicts[verdicts["visible_at"] <= now])
        cut = traded(candles[: at + 1], verdicts)
        for other in (known, cut):
            pd.testing.assert_frame_equal(whole[: at + 1], other[: at + 1], check_dtype=False)
        checked += 1
        columns += int(whole[: at + 1]["signal_call"].notna().sum())
print(json.dumps([checked, columns > 1000]))`,
      Math.floor(Math.random() * 1_000_000),
    )
    expect(said).toEqual([225, true])
  })

  test('sees of all that is visible the verdict about the newest bar, for two bars', async () => {
    const said = await python(
      `${MARKET}
wrong = []
for seed in range(given, given + 25):
    candles, verdicts = market(seed)
    frame = traded(candles, verdicts)
    for at, candle in frame.iterrows():
        closes = candle["date"] + pd.Timedelta(minutes=15)
        visible = [row for row in verdicts.to_dict("records") if row["visible_at"] <= closes]
        newest = max(visible, key=lambda row: (row["bar_close"], row["visible_at"]), default=None)
        if newest is not None and closes - newest["visible_at"] > pd.Timedelta(hours=2):
            newest = None
        expected = [newest and newest["call"], newest and newest["strength"]]
        seen = [None if pd.isna(candle["signal_" + name]) else candle["signal_" + name] for name in ("call", "strength")]
        if seen != expected:
            wrong.append([seed, at, seen, expected])
        enters = expected[0] == "BUY" and expected[1] >= 50
        if (candle["enter_long"] == 1) != enters or (candle["exit_long"] == 1) != (expected[0] != "BUY"):
            wrong.append([seed, at, "trade"])
print(json.dumps(wrong))`,
      Math.floor(Math.random() * 1_000_000),
    )
    expect(said).toEqual([])
  })

  describe('beside a service', () => {
    let service: OwnService
    let folder: string
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'freqtrade-'))
      service = await startOwnService({
        COINS: 'BTC',
        TIMEFRAMES: '1m',
        MARKET_SPEED: '120',
        RATE_PER_ADDRESS: 'off',
      })
      while ((await rows()) < 6) await setTimeout(200)
    })
    afterAll(async () => {
      await service?.stop()
      rmSync(folder, { recursive: true, force: true })
    })
    async function rows(): Promise<number> {
      let count = 0
      for await (const _ of createSignalClient({ url: service.url }).replay()) count += 1
      return count
    }

    test('keeps the record in the data folder, and goes on where it ended', async () => {
      const said = await python(
        `
config = {"datadir": Path(given["folder"]), "signal_service": {"url": given["url"], "exchange": "sim"}}
class Minutes(SignalRecord):
    timeframe = bar = "1m"
def times():
    return list(read_record(file)["cursor"])
strategy = Minutes(config)
file = strategy._record("BTC")
first = times()
asked = file.stat().st_mtime
again = strategy._record("BTC").stat().st_mtime == asked
file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:2]))
os.utime(file, (0, 0))
strategy._record("BTC")
second = times()
candles = pd.DataFrame({"date": pd.date_range(read_record(file)["visible_at"][0].floor("1min"), periods=3, freq="1min")})
seen = strategy.populate_indicators(candles, {"pair": "BTC/USDT:USDT"})["signal_call"].notna().sum()
config["signal_service"]["url"] = "http://127.0.0.1:9"
live = Minutes(config, "dry_run")
class Quick(SignalClient):
    def __init__(self, url, key, tries):
        super().__init__(url, key, tries=1)
sys.modules["SignalRecord"].SignalClient = Quick
kept = live._record("BTC") == file
os.utime(file, (0, 0))
try:
    strategy._record("BTC")
except Refusal as refusal:
    code = refusal.code
print(json.dumps([file.name, first == second[:len(first)], len(set(second)) == len(second), again, int(seen) > 0, kept, code]))`,
        { folder, url: service.url },
      )
      expect(said).toEqual(['SIM-BTC-1m.ndjson', true, true, true, true, true, 'given_up'])
    })

    test('ends at its start where its key is none', async () => {
      const said = await python(
        `
ended = []
for key in ("not-a-key", "sk_live_" + 32 * "0"):
    config = {"datadir": Path(given["folder"]), "signal_service": {"url": given["url"], "exchange": "sim", "api_key": key}}
    try:
        SignalRecord(config, "dry_run").bot_start()
    except OperationalException as error:
        ended.append(str(error))
print(json.dumps(ended))`,
        { folder, url: service.url },
      )
      const words = expect.stringMatching(
        /^the api_key of signal_service is refused: (unauthorized|key_unknown): /,
      )
      expect(said).toEqual([words, words])
    })

    test('waits for a service that limits it, and has its whole record', async () => {
      const limited = await startOwnService({
        COINS: 'BTC',
        TIMEFRAMES: '1m',
        MARKET_SPEED: '120',
        RATE_PER_ADDRESS: '5',
      })
      try {
        const asking = Array.from({ length: 150 }, () =>
          fetch(`${limited.url}/api/markets`).then((one) => one.status),
        )
        const found = python(
          `
config = {"datadir": Path(given["folder"]), "signal_service": {"url": given["url"], "exchange": "sim"}}
class Minutes(SignalRecord):
    timeframe = bar = "1m"
print(json.dumps(Minutes(config)._record("BTC").name))`,
          { folder: join(folder, 'limited'), url: limited.url },
        )
        expect(await Promise.all(asking)).toContain(429)
        expect(await found).toBe('SIM-BTC-1m.ndjson')
      } finally {
        await limited.stop()
      }
    })

    test('asks live for the verdict of each bar, once, where it trades as a caller', async () => {
      const said = await python(
        `
class Caller(SignalRecord):
    timeframe = bar = "1m"
    known_by = "bar_close"
config = {"datadir": Path(given["folder"]), "signal_service": {"url": given["url"], "exchange": "sim"}}
calls = []
class Counted(SignalClient):
    def get_trade_call(self, **request):
        calls.append(request)
        return super().get_trade_call(**request)
sys.modules["SignalRecord"].SignalClient = Counted
live = Caller(config, "dry_run")
live.bot_start()
rows = live._ask("BTC")
closed = pd.Timestamp(rows[0]["bar_close"])
candles = pd.DataFrame({"date": [closed - pd.Timedelta(minutes=2), closed - pd.Timedelta(minutes=1)]})
seen = live.populate_indicators(candles, {"pair": "BTC/USDT"})
newest = seen["signal_call"][1] == rows[0]["call"] and seen["signal_bar_close"][1] == closed
before = seen["signal_bar_close"][0] != closed
asked = len(calls)
rows[0]["bar_close"] = "2026-01-01T00:00:00.000Z"
config["signal_service"]["url"] = "http://127.0.0.1:9"
Counted.__init__ = lambda self, url, key, tries: SignalClient.__init__(self, url, key, tries=1)
kept = live._ask("BTC") == rows
print(json.dumps([bool(newest), bool(before), asked, kept, len(calls)]))`,
        { folder, url: service.url },
      )
      expect(said).toEqual([true, true, 1, true, 2])
    })
  })
})
