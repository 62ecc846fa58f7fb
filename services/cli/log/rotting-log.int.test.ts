import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningService, startService } from '../../composition/start-service.ts'
import { textOf } from '../../log/embedded/stored-row.ts'
import { openStoredRows } from '../../log/embedded/stored-rows.ts'
import { readSettings } from '../../runtime/config/read-settings.ts'
import { runSignal } from '../kit/run-signal.fixture.ts'

const TOKEN = 'operator-token-for-tests'
const headers = { authorization: `Bearer ${TOKEN}` }

let folder: string
let service: RunningService | undefined
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rotting-'))
})
afterAll(async () => {
  await service?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const start = (): Promise<RunningService> =>
  startService(
    readSettings(['--port', '0', '--data-dir', join(folder, 'data'), '--console', 'off', '--speed', '120'], {
      FRESH: 'true',
      LOG_LEVEL: 'error',
      OPERATOR_TOKEN: TOKEN,
      TIMEFRAMES: '1m,1h',
      COINS: 'BTC,ETH',
    }),
    process.stdout,
  )

interface Component {
  readonly name: string
  readonly state: string
  readonly detail: string
}

async function componentsWhere(
  isSo: (of: Map<string, Component>) => boolean,
): Promise<Map<string, Component>> {
  for (;;) {
    const answer = await fetch(`${service?.url}/readyz`, { headers })
    const { components } = (await answer.json()) as { components: Component[] }
    const of = new Map(components.map((component) => [component.name, component]))
    if (isSo(of)) return of
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const textUpTo = (dataDir: string, head: number): string => {
  const rows = openStoredRows(join(folder, dataDir, 'simulated', 'events.db'))
  const text = textOf(rows.everything(0, head, head))
  rows.close()
  return text
}

/** Flips a bit of a text where a file holds it. */
function flip(file: string, text: string): void {
  const bytes = readFileSync(file)
  const at = bytes.indexOf(text)
  expect(at).toBeGreaterThan(0)
  const middle = at + Math.floor(text.length / 2)
  bytes[middle] = (bytes[middle] ?? 0) ^ 1
  writeFileSync(file, bytes)
}

function rowOf(file: string, sql: string): Record<string, unknown> {
  const db = new DatabaseSync(file, { readOnly: true })
  const found = db.prepare(sql).get()
  db.close()
  return found ?? expect.fail(`There is no row for ${sql}.`)
}

/** The newest pass of the scrub ended long ago. */
function aDayPasses(file: string): void {
  const db = new DatabaseSync(file)
  db.exec('UPDATE scrub SET ended_at = 0')
  db.close()
}

const signal = async (line: string): Promise<void> => {
  const args = line.split(' ').map((word) => (word.startsWith('./') ? join(folder, word) : word))
  const { code, said } = await runSignal(...args)
  expect([line, code, code === 0 ? '' : said]).toEqual([line, 0, ''])
}

test('a damaged event is named at /readyz, and the log comes back whole from its backup; read models are built anew', async () => {
  const log = join(folder, 'data', 'simulated', 'events.db')
  const models = join(folder, 'data', 'simulated', 'projections.db')
  service = await start()
  await componentsWhere((of) => of.get('scrub')?.state === 'ok')
  const verdicts = "SELECT count(*) AS count FROM event WHERE type = 'VerdictRecorded'"
  while (Number(rowOf(log, verdicts)['count']) < 12) await new Promise((resolve) => setTimeout(resolve, 50))
  await signal('backup ./backup --data-dir ./data')
  await service.stop()
  const { position, data } = rowOf(
    log,
    "SELECT position, data FROM event WHERE type = 'VerdictRecorded' ORDER BY position LIMIT 1",
  )
  const { head } = rowOf(log, 'SELECT max(position) AS head FROM event')
  const written = textUpTo('data', Number(head))
  const newest = 'SELECT row FROM row_latest_verdicts_1 ORDER BY key'
  flip(models, String(rowOf(models, newest)['row']).slice(0, 40))
  service = await start()
  // The engine reads it at its start, and the file is made anew: then the row can be parsed again.
  await componentsWhere((of) => of.get('scrub')?.state === 'ok')
  await componentsWhere((of) => of.get('projection latest_verdicts')?.state === 'ok')
  expect(JSON.parse(String(rowOf(models, newest)['row']))).toMatchObject({ verdict: { coin: 'BTC' } })
  await service.stop()

  aDayPasses(log)
  flip(log, String(data).slice(0, 100))
  service = await start()
  const found = await componentsWhere((of) => of.get('scrub')?.state === 'degraded')
  expect(found.get('scrub')?.detail).toMatch(
    new RegExp(`^log_damaged: .*position ${String(position)} \\(event .*signal backup.*signal restore`),
  )
  const metrics = await (await fetch(`${service.url}/metrics`, { headers })).text()
  expect(metrics).toMatch(/log_scrub_events\{state="damaged"\} [1-9]/)
  await service.stop()

  // The backup takes newer events, although an older one cannot be read.
  await signal('backup ./backup --data-dir ./data')
  mkdirSync(join(folder, 'restored', 'simulated'), { recursive: true })
  copyFileSync(
    join(folder, 'data', 'simulated', 'sealing.key'),
    join(folder, 'restored', 'simulated', 'sealing.key'),
  )
  await signal('restore ./backup --data-dir ./restored')
  expect(textUpTo('restored', Number(head))).toBe(written)
})
