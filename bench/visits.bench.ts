import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { startServiceProcess } from '../services/http/testing/start-service-process.ts'
import { besideLoad, reportBeside, startCaller } from './support/calls-beside-load.ts'
import { print } from './support/measure.ts'

/**
 * Effect of visitors of pages on callers of tools: the median of a keyed call of a whole service, as a user starts it,
 * beside a flood of visits and without it, in turn; the middle of the ratios of such pairs, and its quartiles.
 *
 * node bench/visits.bench.ts          BENCH_ROUNDS=11 BENCH_SECONDS=0.5
 *
 * Budget: beside 40 visitors from ten addresses less than 3 times the median without.
 */
const TIMES = {
  rounds: Number(process.env.BENCH_ROUNDS ?? 11),
  forMs: Number(process.env.BENCH_SECONDS ?? 0.5) * 1_000,
}
const WARM_MS = 2_000
const SIGNAL = new URL('../services/signal.js', import.meta.url).pathname

const service = await startServiceProcess({
  COINS: 'BTC,ETH',
  TIMEFRAMES: '1m,15m,1h',
  TRUST_PROXY: '1',
  RATE_PER_KEY: '1000000',
  RATE_PER_ADDRESS: '1000000',
})
const makeKey = [SIGNAL, 'keys', 'create', '--tier', 'pro', '--data-dir', service.dataDirectory]
const key = (await promisify(execFile)(process.execPath, makeKey)).stdout.trim()
const caller = startCaller(service.url, key)
await sleep(WARM_MS)
await caller.median(WARM_MS)

const SERIES = ['/series/SIM/BTC/1m', '/series/SIM/ETH/15m', '/series/SIM/BTC/1h']
const LOADS: readonly (readonly [name: string, args: readonly string[]])[] = [
  ['four visitors of the board', ['1', '4', '/']],
  ['40 visitors of the board', ['10', '4', '/']],
  ['four visitors of series', ['1', '4', ...SERIES]],
  ['40 visitors of series', ['10', '4', ...SERIES]],
  ['40 visitors of the track record', ['10', '4', '/track-record']],
]
print('a keyed tool call while others open pages')
for (const [name, rest] of LOADS) {
  const pairs = await besideLoad(caller, { script: 'visitors.ts', args: [service.url, ...rest] }, TIMES)
  reportBeside(name, pairs, name.startsWith('40') ? 3 : undefined)
}
caller.stop()
await service.stop()
service.remove()
