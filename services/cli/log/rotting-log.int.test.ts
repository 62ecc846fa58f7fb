import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningService, startService } from '../../composition/start-service.ts'
import { textOf } from '../../log/embedded/stored-row.ts'
import { openStoredRows } from '../../log/embedded/stored-rows.ts'
import { readSettings } from '../../runtime/config/read-settings.ts'
import { runSignal } from '../kit/run-signal.fixture.ts'
import { signedTree } from './backup-drill.ts'

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

/** The root that the entries of a log have at the size of a checkpoint. */
function rootOf(dataDir: string, checkpoint: string): string | undefined {
  const rows = openStoredRows(join(folder, dataDir, 'simulated', 'events.db'))
  const tree = signedTree(rows, rows.head(), new AbortController().signal)
  rows.close()
  return tree?.rootAt(Number(checkpoint.split('\n')[1]))
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

/** The newest pass of the scrub, which a stop of the service may have interrupted, ended long ago. */
function aDayPasses(file: string): void {
  const db = new DatabaseSync(file)
  db.exec('UPDATE scrub SET position = 0, ended_at = 0')
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
    new RegExp(`^log_damaged: .*position ${String(position)} \\(event .*signal restore ADDRESS --in-place`),
  )
  const away = await runSignal(
    'restore',
    join(folder, 'backup'),
    '--in-place',
    '--data-dir',
    join(folder, 'data'),
  )
  expect([away.code, away.said]).toEqual([7, expect.stringContaining('store_locked')])
  const metrics = await (await fetch(`${service.url}/metrics`, { headers })).text()
  expect(metrics).toMatch(/log_scrub_events\{state="damaged"\} [1-9]/)
  await service.stop()

  // One command: the backup takes newer events, although an older one cannot be read, and the log is whole in its place.
  const checkpoint = readFileSync(join(folder, 'data', 'simulated', 'newest-checkpoint'), 'utf8')
  await signal('restore ./backup --in-place --data-dir ./data')
  expect(textUpTo('data', Number(head))).toBe(written)
  expect(rootOf('data', checkpoint)).toBe(checkpoint.split('\n')[2])
  const beside = readdirSync(join(folder, 'data', 'simulated'))
  expect(beside.filter((name) => /^(?:damaged-\d+|restored)$/.test(name))).toHaveLength(1)
  service = await start()
  await componentsWhere((of) => of.get('scrub')?.state === 'ok')
  const size = Number(checkpoint.split('\n')[1])
  const signed = async () =>
    Number((await (await fetch(`${service?.url}/log/checkpoint`)).text()).split('\n')[1])
  while ((await signed()) <= size) await new Promise((resolve) => setTimeout(resolve, 100))
}, 120_000)

test('an end in between leaves a folder in which nothing starts, and the next run goes on', async () => {
  await service?.stop()
  const data = join(folder, 'data', 'simulated')
  await signal('backup ./backup --data-dir ./data')
  const { head } = rowOf(join(data, 'events.db'), 'SELECT max(position) AS head FROM event')
  const written = textUpTo('data', Number(head))
  // As a process leaves it that was killed after it moved the log, before the restored one took its place.
  mkdirSync(join(data, 'damaged-1'))
  renameSync(join(data, 'events.db'), join(data, 'damaged-1', 'events.db'))
  mkdirSync(join(data, 'restored'))
  writeFileSync(join(data, 'restored', 'events.db.unfinished'), 'half of a log')
  await expect(start()).rejects.toMatchObject({ code: 'store_mismatch' })
  await signal('restore ./backup --in-place --data-dir ./data')
  expect(textUpTo('data', Number(head))).toBe(written)
}, 60_000)

test('a backup that ends earlier takes the place of nothing', async () => {
  const data = join(folder, 'data', 'simulated')
  const newest = join(data, 'newest-position')
  const noted = readFileSync(newest, 'utf8')
  writeFileSync(
    newest,
    noted.replace(/\d+ /, (position) => `${Number(position) + 7} `),
  )
  const events = readFileSync(join(data, 'events.db'))
  const { code, said } = await runSignal(
    'restore',
    join(folder, 'backup'),
    '--in-place',
    '--data-dir',
    join(folder, 'data'),
  )
  expect([code, said]).toEqual([19, expect.stringContaining('which was durable, is not in it')])
  expect(readFileSync(join(data, 'events.db')).equals(events)).toBe(true)
  writeFileSync(newest, noted)
}, 60_000)
