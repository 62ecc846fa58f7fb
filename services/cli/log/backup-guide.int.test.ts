import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PROJECTIONS } from '../../../projections/index.ts'
import { type RunningService, startService } from '../../composition/start-service.ts'
import { openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { startProjector } from '../../log/projector/projector.ts'
import { openRowTables, type RowTables } from '../../log/projector/row-tables.ts'
import { payments } from '../../payments/payments-projection.ts'
import { transparencyTree } from '../../proof/index.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { readSettings } from '../../runtime/config/read-settings.ts'
import { subscriptionsReadModel } from '../../webhooks/index.ts'
import { runSignal } from '../kit/run-signal.fixture.ts'

const projections = [...PROJECTIONS, payments, subscriptionsReadModel, transparencyTree]
let folder: string
let service: RunningService | undefined
let receiver: Server
let received = 0

const start = (dataDir: string): Promise<RunningService> =>
  startService(
    readSettings(
      [
        '--port',
        '0',
        '--data-dir',
        dataDir,
        '--console',
        'off',
        '--speed',
        '120',
        '--webhooks-allow-private',
      ],
      { FRESH: 'true', LOG_LEVEL: 'error', TIMEFRAMES: '1m,1h', COINS: 'BTC,ETH' },
    ),
    process.stdout,
  )

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'backup-'))
  receiver = createServer((request, response) => {
    request.resume()
    received += 1
    response.end()
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
})
afterAll(async () => {
  await service?.stop()
  receiver.close()
  rmSync(folder, { recursive: true, force: true })
})

/** A command line of the guide, with its folders below ours. */
async function run(line: string): Promise<string> {
  const args = line.split(' ').map((word) => (word.startsWith('./') ? join(folder, word) : word))
  const { code, said } = await runSignal(...args)
  expect([line, code, code === 0 ? '' : said]).toEqual([line, 0, ''])
  return said
}

/** The commands of a section of the guide. */
function commandsOf(section: string): string[] {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/backup.md'), 'utf8')
  const [, text = ''] = page.split(`## ${section}\n`)
  return [...(text.split('\n## ')[0] ?? '').matchAll(/^npm run -s signal -- (.*)$/gm)].map(
    ([, args = '']) => args,
  )
}

async function ask(url: string | undefined, key: string, times: number): Promise<void> {
  for (let left = times; left > 0; left--) {
    const answer = await fetch(new URL('/mcp', url), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'get_trade_call', arguments: { coin: 'BTC', timeframe: '1h' } },
      }),
    })
    expect(answer.status).toBe(200)
    await answer.arrayBuffer()
  }
}

/** All read models of a log, folded from its beginning. */
async function foldOf(dataDir: string): Promise<RowTables> {
  const store = await openEmbeddedStore({ directory: join(folder, dataDir, 'simulated'), now: Date.now })
  const tables = openRowTables(':memory:', 'the log')
  const projector = startProjector({
    store,
    tables: { ...tables, close: () => undefined },
    projections,
    sleep,
  })
  await projector.caughtUp()
  expect(projector.health().filter(({ state }) => state !== 'live')).toEqual([])
  await projector.close()
  await store.close()
  return tables
}

/** Takes away what a log holds behind a position. */
function cutOff(dataDir: string, position: number): void {
  const db = new DatabaseSync(join(folder, dataDir, 'simulated', 'events.db'))
  db.prepare('DELETE FROM event WHERE position > ?').run(position)
  db.close()
  rmSync(join(folder, dataDir, 'simulated', 'newest-position'))
}

test('backed up under load as the guide says, restored, and every read model is the same', async () => {
  service = await start(join(folder, 'data'))
  const key = /sk_live_\w+/.exec(await run('keys create --tier starter --data-dir ./data'))?.[0] ?? ''
  const { port } = receiver.address() as AddressInfo
  const created = await fetch(`${service.url}/api/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: `http://127.0.0.1:${port}/hook`, events: ['trade_call', 'regime_shift'] }),
  })
  expect(created.status).toBe(201)
  const load = ask(service.url, key, 30)
  const [backup = '', check = ''] = commandsOf('How do I make a backup?')
  await run(backup)
  await load
  await ask(service.url, key, 5)
  // oxlint-disable-next-line no-unmodified-loop-condition -- the receiver changes it
  while (received === 0) await sleep(50, new AbortController().signal)
  const first = JSON.parse((await run(`${check} --json`)).split('\n').at(-2) ?? '') as { position: number }
  await run(backup)
  // It is signed some seconds behind the first verdict.
  const newest = join(folder, 'data', 'simulated', 'newest-checkpoint')
  while (!existsSync(newest)) await sleep(50, new AbortController().signal)
  await service.stop()
  service = undefined

  const [whole = '', earlier = ''] = commandsOf('How do I restore?')
  for (const restored of ['restored', 'restored-earlier']) {
    mkdirSync(join(folder, restored, 'simulated'), { recursive: true })
    for (const name of ['sealing.key', 'log.keys', 'newest-checkpoint'])
      cpSync(join(folder, 'data', 'simulated', name), join(folder, restored, 'simulated', name))
  }
  const said = JSON.parse(/^\{.*\}$/m.exec(await run(`${whole} --json`))?.[0] ?? '') as { position: number }
  expect(said.position).toBeGreaterThan(first.position)
  await run(earlier.replace(/--to-position \d+/, `--to-position ${first.position}`))

  for (const [restored, position] of [
    ['restored', said.position],
    ['restored-earlier', first.position],
  ] as const) {
    const original = `original-${position}`
    cpSync(join(folder, 'data', 'simulated'), join(folder, original, 'simulated'), { recursive: true })
    cutOff(original, position)
    const [before, after] = [await foldOf(original), await foldOf(restored)]
    let rows = 0
    for (const { name } of projections) {
      const found = [...after.entries(name)]
      expect([name, found]).toEqual([name, [...before.entries(name)]])
      rows += found.length
    }
    expect(rows).toBeGreaterThan(5)
    before.close()
    after.close()
  }

  // And it is in service again, for the same key.
  service = await start(join(folder, 'restored'))
  await ask(service.url, key, 1)
}, 240_000)
