import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createFakeMarket } from '../market/live/testing/fake-market.ts'
import { type FakeVenue, startFakeVenue } from '../market/live/testing/fake-venue.ts'
import { VENUE_FORMATS } from '../market/live/testing/venue-formats.ts'

const START = join(import.meta.dirname, '..', 'start.js')
const EXCHANGES = ['BINANCE', 'OKX'] as const
const PATIENCE_MS = 60_000

type Venues = Readonly<Record<(typeof EXCHANGES)[number], FakeVenue>>

const later = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

/** The answer to a caller for a coin at a venue: its call, or the code of the refusal; undefined while nobody answers. */
async function ask(base: string, exchange: string): Promise<string | undefined> {
  const name = 'get_trade_call'
  const call = { name, arguments: { exchange, coin: 'BTC', timeframe: '5m' } }
  try {
    const response = await fetch(`${base}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }),
    })
    return /\\?"(BUY|SELL|HOLD)\\?"/.exec(await response.text())?.[1] ?? 'refused'
  } catch {
    return undefined
  }
}

/** Runs a service over two made-up venues, asked all the time, until one has a call; answers how it ended. */
async function run(waitFor: (typeof EXCHANGES)[number], problem: (venues: Venues) => void) {
  const directory = mkdtempSync(join(tmpdir(), 'live-start-'))
  const [binance, okx] = await Promise.all(
    EXCHANGES.map((exchange) =>
      startFakeVenue(
        VENUE_FORMATS[exchange],
        createFakeMarket({ seed: exchange, coins: ['BTC', 'ETH'], now: Date.now }),
      ),
    ),
  )
  const venues = { BINANCE: binance, OKX: okx } as Venues
  problem(venues)
  const flags = ['--port', '0', '--data-dir', directory, '--market', 'live', '--coins', 'BTC,ETH']
  const child = spawn(process.execPath, [START, ...flags, '--timeframes', '1m,5m'], {
    env: {
      ...process.env,
      EXCHANGES: EXCHANGES.join(),
      VENUE_URLS: EXCHANGES.map((exchange) => `${exchange}=${venues[exchange].url}`).join(),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part: Buffer) => {
      out += part.toString()
    })
  const exited = once(child, 'exit')
  let call: string | undefined
  for (
    const began = Date.now();
    Date.now() - began < PATIENCE_MS && child.exitCode === null;
    await later(200)
  ) {
    const base = /http:\/\/[\w.:[\]]+:\d+/.exec(
      out.replaceAll(/http:\/\/127\.0\.0\.1:\d+[^\n]*=.*/g, ''),
    )?.[0]
    if (base === undefined) continue
    const answers = await Promise.all(EXCHANGES.map((exchange) => ask(base, exchange)))
    call = answers[EXCHANGES.indexOf(waitFor)]
    if (call !== undefined && call !== 'refused') break
  }
  const wasRunning = child.exitCode === null
  child.kill('SIGTERM')
  const [code] = (await exited) as [number | null]
  await Promise.all(Object.values(venues).map((venue) => venue.close()))
  rmSync(directory, { recursive: true, force: true })
  return { wasRunning, call, code, out }
}

test.each<[string, (typeof EXCHANGES)[number], (venues: Venues) => void]>([
  [
    'rankings that take seconds',
    'BINANCE',
    ({ BINANCE }) => BINANCE.fail('tickers', { kind: 'held', until: later(4_000) }),
  ],
  [
    'candles that fail at first',
    'BINANCE',
    ({ BINANCE }) => {
      BINANCE.fail('candles', { kind: 'status', status: 503 })
      setTimeout(() => BINANCE.heal(), 3_000)
    },
  ],
  [
    'another venue that is away altogether',
    'BINANCE',
    ({ OKX }) => {
      for (const route of ['markets', 'candles', 'tickers', 'funding'] as const)
        OKX.fail(route, { kind: 'reset' })
    },
  ],
])(
  'a live service asked from its first second on comes up, with %s',
  { timeout: 2 * PATIENCE_MS },
  async (_name, waitFor, problem) => {
    const { wasRunning, call, code, out } = await run(waitFor, problem)
    expect({ wasRunning, code, call }, out).toEqual({
      wasRunning: true,
      code: 0,
      call: expect.stringMatching(/BUY|SELL|HOLD/) as string,
    })
  },
)
