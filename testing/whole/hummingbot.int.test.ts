import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type OwnService, startOwnService } from '../../services/composition/own-service.fixture.ts'
import { pythonWith } from './python.fixture.ts'

const CLIENTS = resolve(import.meta.dirname, '../../clients')
const PYTHON = pythonWith('pandas')
const reason = PYTHON === undefined ? ' (skipped: pandas is not installed)' : ''

/** Stands in for Hummingbot: what the controller takes of its base class, which lets each proposal pass. */
const HUMMINGBOT = `
import asyncio, json, sys, types
class Config:
    trading_pair = "BTC-USDT"
    def __init__(self, **fields):
        self.__dict__.update(fields)
class Base:
    def __init__(self, config, market_data_provider=None):
        self.config, self.market_data_provider, self.processed_data = config, market_data_provider, {}
    def can_create_executor(self, signal):
        return True
name = "hummingbot"
for part in ("strategy_v2", "controllers", "directional_trading_controller_base"):
    sys.modules[name] = types.ModuleType(name)
    name += "." + part
sys.modules[name] = types.SimpleNamespace(DirectionalTradingControllerBase=Base, DirectionalTradingControllerConfigBase=Config)
from signal_record import *
given = json.loads(sys.argv[1])
time = types.SimpleNamespace(now=0.0)
time.time = lambda: time.now
`

async function python(program: string, given: unknown): Promise<unknown> {
  const path = [join(CLIENTS, 'hummingbot'), join(CLIENTS, 'python')].join(':')
  const env = { PATH: process.env.PATH, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1' }
  const { stdout } = await promisify(execFile)(
    PYTHON ?? '',
    ['-c', `${HUMMINGBOT}${program}`, JSON.stringify(given)],
    { env },
  )
  return JSON.parse(stdout)
}

test('the controller has at most 150 lines', () => {
  const text = readFileSync(join(CLIENTS, 'hummingbot/signal_record.py'), 'utf8')
  expect(text.split('\n').length).toBeLessThanOrEqual(150)
})

describe.skipIf(PYTHON === undefined)(`a controller of Hummingbot${reason}`, () => {
  let service: OwnService
  beforeAll(async () => {
    service = await startOwnService({ COINS: 'BTC', TIMEFRAMES: '1h', FRESH: 'false' })
  }, 60_000)
  afterAll(async () => service?.stop())

  test('asks the service for the call of its pair, and shows it', async () => {
    const said = await python(
      `
config = SignalRecordConfig(service_url=given, exchange="SIM", least_strength=0)
controller = SignalRecord(config, time)
async def main():
    await controller.update_processed_data()
    answer = controller.answer
    time.now = at(answer["bar_close"])
    await controller.update_processed_data()
    data = controller.processed_data
    print(json.dumps([data["signal"] == SIDES.get(answer["call"], 0), len(data["features"]), answer["coin"],
                      controller.next_at - at(answer["bar_close"])]))
asyncio.run(main())`,
      service.url,
    )
    expect(said).toEqual([true, 1, 'BTC', 3_602])
  })

  test('opens one position for each strong call that is still good, and asks once for each bar', async () => {
    const said = await python(
      `
calls, log_ = [], []
def bar(hour, call, strength=80):
    return {"verdict_id": str(hour), "call": call, "strength": strength, "bar_close": f"2026-01-01T{hour:02}:00:00.000Z",
            "valid_until": f"2026-01-01T{hour + 2:02}:00:00.000Z", "coin": "BTC", "confidence": 55, "regime": "RANGING", "price": 1.0}
answers = {0: bar(0, "BUY"), 1: bar(1, "BUY"), 2: bar(2, "SELL", 10), 3: bar(3, "SELL"), 4: None, 5: bar(3, "SELL"), 6: bar(6, "HOLD")}
class Signals:
    async def get_trade_call(self, **request):
        hour = int((time.now - start) // 3600)
        calls.append(hour)
        if answers[hour] is None:
            raise Refusal("store_unavailable", "away", "Wait.")
        return answers[hour]
start = at("2026-01-01T00:00:00.000Z")
controller = SignalRecord(SignalRecordConfig(), time)
controller.signals = Signals()
opened = []
async def main():
    for second in range(0, 7 * 3600, 5):
        time.now = start + second + 2
        await controller.update_processed_data()
        signal = controller.processed_data["signal"]
        if signal != 0 and controller.can_create_executor(signal):
            opened.append([second // 3600, signal])
asyncio.run(main())
print(json.dumps([opened, [calls.count(hour) for hour in range(7)]]))`,
      service.url,
    )
    // At 4 it is away, at 5 its newest verdict is that of 3: each costs a call for a twentieth of a bar.
    expect(said).toEqual([
      [
        [0, 1],
        [1, 1],
        [3, -1],
      ],
      [1, 1, 1, 1, 20, 20, 1],
    ])
  })
})
