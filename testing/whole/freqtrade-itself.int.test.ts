import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSignalClient, type Verdict } from '../../clients/typescript/src/index.ts'
import { type OwnService, startOwnService } from '../../services/composition/own-service.fixture.ts'
import {
  isDataAbsent,
  RECORDED_DATA,
  readCandles,
  toRow,
} from '../../services/market/testing/recorded-data.ts'
import { pythonWith } from './python.fixture.ts'

/** The folders of Freqtrade 2023.6 and SQLAlchemy 2.0.17, which are brought for this test and not kept here. */
const SOURCE = process.env.FREQTRADE_SOURCE ?? ''
const NEEDED =
  'pandas cachetools rapidjson arrow jsonschema dateutil tabulate colorama typing_extensions packaging requests'
const PYTHON = pythonWith(...NEEDED.split(' '))
const reasons = [
  SOURCE === '' && 'FREQTRADE_SOURCE is not set',
  isDataAbsent && '../shared/data is absent',
  PYTHON === undefined && `no Python has ${NEEDED}`,
].filter((reason) => reason !== false)
const why = reasons.length === 0 ? '' : ` (skipped: ${reasons.join('; ')})`

const CLIENTS = resolve(import.meta.dirname, '../../clients')
const STAND_INS = join(import.meta.dirname, 'freqtrade-stand-ins')
const COINS = ['BTC', 'ETH', 'DOGE']
/** The last verdict that a market which ends with 2025 shows: its window ends with it. */
const LAST_VISIBLE = '2026-01-01T00:00:00.000Z'

/** A strategy that reads a record as a caller with a key has it, and one that looks eight candles ahead. */
const OTHERS = `
from SignalRecord import SignalRecord
class WithKey(SignalRecord):
    known_by = "bar_close"
class Peeks(SignalRecord):
    def populate_entry_trend(self, dataframe, metadata):
        dataframe["later_close"] = dataframe["close"].shift(-8)
        dataframe.loc[dataframe["later_close"] > dataframe["close"] * 1.01, "enter_long"] = 1
        return dataframe
`

interface Trade {
  readonly pair: string
  readonly open_timestamp: number
  readonly profit_ratio: number
}

describe.skipIf(why !== '')(`Freqtrade over a replay of recorded candles${why}`, () => {
  let service: OwnService
  let folder: string
  const rows = new Map<string, Verdict[]>()

  beforeAll(async () => {
    service = await startOwnService({
      MARKET: 'recorded',
      MARKET_DATA: join(RECORDED_DATA, 'binance-usdm'),
      MARKET_FROM: '2025-08-17',
      COINS: COINS.join(','),
      TIMEFRAMES: '1h',
      RATE_PER_ADDRESS: 'off',
    })
    folder = mkdtempSync(join(tmpdir(), 'freqtrade-itself-'))
    const [strategies, candles] = [join(folder, 'strategies'), join(folder, 'data/binance')]
    for (const made of [strategies, candles]) mkdirSync(made, { recursive: true })
    cpSync(join(CLIENTS, 'freqtrade/SignalRecord.py'), join(strategies, 'SignalRecord.py'))
    cpSync(join(CLIENTS, 'python/signal_client/__init__.py'), join(strategies, 'signal_client.py'))
    writeFileSync(join(strategies, 'others.py'), OTHERS)
    for (const coin of COINS) {
      const table = await readCandles(`binance-usdm/${coin}USDT-15m`)
      const text = JSON.stringify(table.map((candle) => [...toRow(candle)]))
      writeFileSync(join(candles, `${coin}_USDT-15m.json`), text)
    }
    const pricing = { price_side: 'same', use_order_book: true, order_book_top: 1 }
    const config = {
      dry_run: true,
      stake_currency: 'USDT',
      stake_amount: 1_000,
      dry_run_wallet: 10_000,
      max_open_trades: COINS.length,
      dataformat_ohlcv: 'json',
      exchange: { name: 'binance', pair_whitelist: COINS.map((coin) => `${coin}/USDT`) },
      pairlists: [{ method: 'StaticPairList' }],
      entry_pricing: pricing,
      exit_pricing: pricing,
      signal_service: { url: service.url, exchange: 'BINANCE' },
    }
    writeFileSync(join(folder, 'config.json'), JSON.stringify(config))
    await Promise.all(COINS.map(replayed))
  }, 180_000)
  afterAll(async () => {
    await service?.stop()
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  })

  /** Waits until the whole of a coin's record is there, and keeps it to compare with. */
  async function replayed(coin: string): Promise<void> {
    const signals = createSignalClient({ url: service.url })
    const found: Verdict[] = []
    while (found.at(-1)?.visible_at !== LAST_VISIBLE) {
      await setTimeout(500)
      const after = found.at(-1)?.cursor
      for await (const row of signals.replay({
        exchange: 'BINANCE',
        coin,
        timeframe: '1h',
        ...(after && { after }),
      }))
        found.push(row)
    }
    rows.set(coin, found)
  }

  async function freqtrade(command: string, strategy: string, ...flags: string[]): Promise<string> {
    const env = {
      PATH: process.env.PATH,
      PYTHONPATH: [STAND_INS, SOURCE].join(delimiter),
      PYTHONDONTWRITEBYTECODE: '1',
    }
    const places = ['--config', join(folder, 'config.json'), '--userdir', folder]
    const what = ['--strategy', strategy, '--timerange', '20250818-20260101', ...flags]
    const { stdout } = await promisify(execFile)(
      PYTHON ?? '',
      ['-m', 'freqtrade', command, ...places, ...what],
      { env, cwd: folder },
    )
    return stdout
  }

  test.each(['SignalRecord', 'WithKey'])(
    'backtests %s: each entry follows the newest verdict that was known',
    async (strategy) => {
      const said = await freqtrade(
        'backtesting',
        strategy,
        '--fee',
        '0.001',
        '--cache',
        'none',
        '--export',
        'trades',
      )
      process.stdout.write(
        `${said.slice(0, said.indexOf('LEFT OPEN'))}\n${said.slice(said.indexOf('STRATEGY SUMMARY'))}\n`,
      )
      const results = join(folder, 'backtest_results')
      const { latest_backtest: name } = JSON.parse(readFileSync(join(results, '.last_result.json'), 'utf8'))
      expect(readdirSync(results)).toContain(name)
      const { trades } = JSON.parse(readFileSync(join(results, name), 'utf8')).strategy[strategy] as {
        trades: Trade[]
      }
      expect(trades.length).toBeGreaterThan(50)
      const known = strategy === 'WithKey' ? 'bar_close' : 'visible_at'
      for (const { pair, open_timestamp } of trades) {
        const visible = (rows.get(pair.split('/')[0] ?? '') ?? []).filter(
          (row) => Date.parse(row[known]) <= open_timestamp,
        )
        const newest = visible.reduce((best, row) => (row.bar_close > best.bar_close ? row : best))
        expect([newest.call, newest.strength >= 50]).toEqual(['BUY', true])
      }
    },
    120_000,
  )

  test('finds no look-ahead in the strategy, and finds it in one that peeks', async () => {
    const amounts = ['--minimum-trade-amount', '10', '--targeted-trade-amount', '10']
    const row = async (strategy: string) => {
      const said = await freqtrade('lookahead-analysis', strategy, ...amounts)
      const line = said.split('\n').find((text) => text.split('|')[2]?.trim() === strategy) ?? ''
      process.stdout.write(`${line}\n`)
      return line
        .split('|')
        .slice(3, 7)
        .map((cell) => cell.trim())
    }
    expect(await row('SignalRecord')).toEqual(['False', '10', '0', '0'])
    expect((await row('Peeks'))[0]).toBe('True')
  }, 240_000)
})
