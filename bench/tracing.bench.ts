import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runSignal } from '../services/cli/kit/run-signal.fixture.ts'
import { type RunningService, startService } from '../services/composition/start-service.ts'
import { readSettings } from '../services/runtime/config/read-settings.ts'
import { type Load, loadCandidate } from './support/http-load.ts'
import { type Candidate, measure, print, quantile, report } from './support/measure.ts'

/**
 * Cost of traces: counted tool calls of a whole service that traces nothing, one call of a hundred, and every one. Spans go
 * to a collector in this process, which only reads them.
 *
 * node bench/tracing.bench.ts          BENCH_ROUNDS=7 BENCH_SECONDS=2
 *
 * Budget: one of a hundred at least 0.95 of nothing.
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 7)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 2)
const CONNECTIONS = 32
const OFF = 'nothing is traced'
const SOME = 'one of a hundred'

const collector = createServer((request, response) => {
  request.resume().on('end', () => response.end('{}'))
})
await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
const root = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'bench-tracing-'))

/** A service of its own, and a key for it. */
async function open(
  name: string,
  ratio: string | undefined,
): Promise<{ service: RunningService; key: string }> {
  const folder = join(root, name)
  const flags = ['--port', '0', '--data-dir', folder, '--console', 'off', '--coins', 'BTC']
  const environment = {
    TIMEFRAMES: '1h',
    RATE_PER_ADDRESS: 'off',
    RATE_PER_KEY: 'off',
    FRESH: 'true',
    LOG_LEVEL: 'error',
    ...(ratio !== undefined && { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER_ARG: ratio }),
  }
  const service = await startService(readSettings(flags, environment), process.stdout)
  const { said } = await runSignal('keys', 'create', '--tier', 'pro', '--data-dir', folder)
  return { service, key: /sk_live_\w+/.exec(said)?.[0] ?? '' }
}

const services: RunningService[] = []
const loads = new Map<string, Load[]>()
const candidates: Candidate[] = []
for (const [name, ratio] of [
  [OFF, undefined],
  [SOME, '0.01'],
  ['every one', '1'],
] as const) {
  const { service, key } = await open(name.replaceAll(' ', '-'), ratio)
  services.push(service)
  loads.set(name, [])
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'get_trade_call', arguments: { coin: 'BTC', timeframe: '1h' } },
  })
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
  const options = { url: `${service.url}/mcp`, headers, body, connections: CONNECTIONS, seconds: SECONDS }
  candidates.push(loadCandidate(name, options, (load) => loads.get(name)?.push(load)))
}

report(
  `tools/call by key, durable, ${CONNECTIONS} connections`,
  'calls/s',
  await measure(candidates, ROUNDS),
  OFF,
  { [SOME]: 0.95 },
)
for (const [name, all] of loads) {
  const each = all.map(({ cpuMicros, requests }) => cpuMicros / requests).toSorted((a, b) => a - b)
  print(`  ${name.padEnd(20)} ${quantile(each, 0.5).toFixed(1)} µs of processor a call`)
}
for (const service of services) await service.stop()
collector.closeAllConnections()
collector.close()
rmSync(root, { recursive: true })
