import { rmSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { type RunningService, startService } from '../../composition/start-service.ts'
import { candleText, hourLines, textOf, writeFolder } from '../../market/testing/data-folder.ts'
import { readSettings } from '../../runtime/config/read-settings.ts'

const START = Date.UTC(2025, 5, 1)
const DAYS = 22
const folder = writeFolder({})
let service: RunningService | undefined
afterAll(async () => {
  await service?.stop()
  rmSync(folder, { recursive: true })
})

/** Hours and settlements of a contract. */
const contract = (symbol: string, price: number, rate: number): Record<string, string> => ({
  [`${symbol}-1h.csv`]: candleText(hourLines(24 * DAYS, { from: START, price })),
  [`${symbol}-funding.csv`]: textOf(
    Array.from({ length: 3 * DAYS }, (_, i) => `${START + (i + 1) * 8 * HOUR_MS},${rate}`),
    'ts,rate',
  ),
})

test('a service compares contracts of one asset, and no two coins that share a name', async () => {
  for (const [venue, files] of Object.entries({
    'binance-usdm': { ...contract('NEIROUSDT', 100, 0), ...contract('1000PEPEUSDT', 1_000_000, 0) },
    bybit: { ...contract('NEIROUSDT', 30_000, 0.0005), ...contract('1000PEPEUSDT', 1_000_000, 0.0005) },
  }))
    writeFolder(
      Object.fromEntries(Object.entries(files).map(([name, text]) => [`${venue}/${name}`, text])),
      folder,
    )
  const settings = ['--market', 'recorded', '--data', folder, '--data-dir', `${folder}/.log`]
  const flags = [...settings, '--port', '0', '--timeframes', '1h', '--console', 'off', '--log-level', 'error']
  service = await startService(readSettings(flags, {}), process.stdout)
  await service.marketEnd
  const answered = await fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'scan_funding_arb', arguments: {} },
    }),
  })
  const text = await answered.text()
  const { result } = JSON.parse(text.slice(text.indexOf('{'))) as { result: { structuredContent: unknown } }
  expect(result.structuredContent).toMatchObject({
    opportunities: [{ coin: 'PEPE', net_expected_bps: 85 }],
    pairs_compared: 1,
    pairs_unconfirmed: 1,
    note: expect.stringMatching(/NEIRO on BINANCE 10\d and BYBIT 3000\d\.$/),
  })
})
