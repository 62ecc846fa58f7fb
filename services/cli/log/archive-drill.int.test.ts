import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PROJECTIONS } from '../../../projections/index.ts'
import { type RunningService, startService } from '../../composition/start-service.ts'
import { logFile, openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { openStoredRows, type StoredRow } from '../../log/embedded/stored-rows.ts'
import { startProjector } from '../../log/projector/projector.ts'
import { openRowTables } from '../../log/projector/row-tables.ts'
import { openEmbeddedSource } from '../../log-operations/copy/embedded-ends.ts'
import { payments } from '../../payments/state/payments.ts'
import { transparencyTree } from '../../proof/index.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { readSettings } from '../../runtime/config/read-settings.ts'
import { subscriptionsReadModel } from '../../webhooks/index.ts'
import { runSignal } from '../kit/run-signal.fixture.ts'

const projections = [...PROJECTIONS, payments, subscriptionsReadModel, transparencyTree]
let folder: string
let service: RunningService | undefined

const start = (): Promise<RunningService> =>
  startService(
    readSettings(['--port', '0', '--data-dir', join(folder, 'data'), '--console', 'off', '--speed', '1200'], {
      FRESH: 'true',
      LOG_LEVEL: 'silent',
      TIMEFRAMES: '1m,1h',
      COINS: 'BTC,ETH',
      OPERATOR_TOKEN: TOKEN,
    }),
    process.stdout,
  )

const TOKEN = 'an-operator-token-of-a-test-that-is-long'

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'archive-drill-'))
})
afterAll(async () => {
  await service?.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function run(line: string): Promise<string> {
  const args = line.split(' ').map((word) => (word.startsWith('./') ? join(folder, word) : word))
  const { code, said } = await runSignal(...args)
  expect([line, code, code === 0 ? '' : said]).toEqual([line, 0, ''])
  return said
}

/** The commands of the guide. */
function guide(): string[] {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/archiving.md'), 'utf8')
  return [...page.matchAll(/^npm run -s signal -- (.*)$/gm)].map(([, args = '']) => args)
}

const logOf = (dataDir: string): string => logFile(join(folder, dataDir, 'simulated'))

function rowsOf(dataDir: string, upTo = Number.POSITIVE_INFINITY): readonly StoredRow[] {
  const rows = openStoredRows(logOf(dataDir))
  try {
    return rows.everything(0, upTo, Number.MAX_SAFE_INTEGER)
  } finally {
    rows.close()
  }
}

function archivedIn(dataDir: string): number {
  const db = new DatabaseSync(logOf(dataDir), { readOnly: true })
  try {
    return Number(db.prepare("SELECT count(*) AS count FROM event WHERE data LIKE 'archived%'").get()?.count)
  } finally {
    db.close()
  }
}

/** Every row of every read model of a log, folded from its beginning. */
async function foldOf(dataDir: string): Promise<readonly unknown[]> {
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
  const rows = projections.map(({ name, version }) => [name, ...tables.table(name, version).entries()])
  tables.close()
  return rows
}

const get = async (path: string): Promise<Response> =>
  fetch(`${service?.url}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } })

const textOf = async (path: string): Promise<string> => {
  const answer = await get(path)
  expect([path, answer.status]).toEqual([path, 200])
  return answer.text()
}

interface State {
  readonly status: string
  readonly components: readonly { readonly name: string; readonly state: string; readonly detail: string }[]
}
const archiveState = async () =>
  ((await (await get('/readyz')).json()) as State).components.find(({ name }) => name === 'archive')

/** Lines of a page of contents, without those that are or were withheld: windows close while the drill goes on. */
async function knownOf(path: string, before?: readonly string[]): Promise<readonly string[]> {
  const lines = (await textOf(path)).split('\n')
  return lines.map((line, place) => (before?.[place] === 'null' ? 'null' : line))
}

/** Verdicts whose outcomes were known before anything was archived. */
const firstRows = async (): Promise<readonly string[]> =>
  (await textOf('/api/verdicts?format=ndjson&timeframe=1m')).split('\n').slice(0, 16)

async function untilVerdicts(count: number): Promise<void> {
  const signal = new AbortController().signal
  while ((await textOf('/api/verdicts?format=ndjson')).split('\n').length <= count) await sleep(200, signal)
}

test('a drill: archived beside the service as the guide says, and everything that reads gives the same bytes', async () => {
  const [archive = '', check = '', shrink = ''] = guide()
  service = await start()
  await untilVerdicts(60)
  await service.stop()
  cpSync(join(folder, 'data'), join(folder, 'original'), { recursive: true })
  const before = { rows: rowsOf('original'), fold: await foldOf('original') }

  service = await start()
  const replayed = await firstRows()
  const contents = await knownOf('/log/contents/000.p/40')
  // What an engine goes on from is younger than what anybody archives.
  const cut = before.rows[Math.floor(before.rows.length / 2)]?.[6] ?? ''
  await run(archive.replace('--older-than 90d', `--before ${cut}`))
  const archived = archivedIn('data')
  expect(archived).toBeGreaterThan(20)
  await run(check)

  // Beside the service, which goes on and reads on its own thread and on that of replays.
  expect(await firstRows()).toEqual(replayed)
  expect(await knownOf('/log/contents/000.p/40', contents)).toEqual(contents)
  await untilVerdicts(66)
  const [vkey = ''] = (await textOf('/log/vkeys')).split('\n')
  await run(`audit ${service.url} --vkey ${vkey} --state ./audit.json`)
  expect(await archiveState()).toMatchObject({ state: 'ok', detail: '1 files are there' })
  await expectAway()
  await service.stop()
  service = undefined

  const last = before.rows.at(-1)?.[0]
  expect(rowsOf('data', last)).toEqual(before.rows)
  cpSync(join(folder, 'data'), join(folder, 'cut'), { recursive: true, verbatimSymlinks: true })
  const shorter = new DatabaseSync(logOf('cut'))
  shorter.prepare('DELETE FROM event WHERE position > ?').run(last ?? 0)
  shorter.close()
  rmSync(join(folder, 'cut', 'simulated', 'newest-position'))
  expect(await foldOf('cut')).toEqual(before.fold)

  await expectWholeCopies()
  await run(shrink)
  expect(rowsOf('data', last)).toEqual(before.rows)
  expect(archivedIn('data')).toBe(archived)
}, 400_000)

/** The folder is away: what needs it says so, all that is new goes on, and back it is read at once. */
async function expectAway(): Promise<void> {
  await service?.stop()
  renameSync(join(folder, 'archive'), join(folder, 'away'))
  service = await start()
  const refused = await get('/api/verdicts?format=ndjson')
  expect(refused.status).toBe(503)
  expect(await refused.json()).toMatchObject({ code: 'store_unavailable' })
  expect(await archiveState()).toMatchObject({
    state: 'degraded',
    detail: expect.stringContaining('files are missing'),
  })
  expect((await get('/readyz')).status).toBe(200)
  expect(await textOf('/metrics')).toMatch(/^archive_files_missing 1$/m)
  const { said } = await runSignal('doctor', '--data-dir', join(folder, 'data'))
  expect(said).toMatch(/^weak .*archive: 1 of 1 files are missing/m)
  const size = (): number => rowsHead()
  const head = size()
  const signal = new AbortController().signal
  while (size() < head + 3) await sleep(100, signal)
  renameSync(join(folder, 'away'), join(folder, 'archive'))
  await textOf('/api/verdicts?format=ndjson')
  expect(await archiveState()).toMatchObject({ state: 'ok' })
}

function rowsHead(): number {
  const rows = openStoredRows(logOf('data'))
  try {
    return rows.head()
  } finally {
    rows.close()
  }
}

/** A backup and a copy of an archived log hold all of it. */
async function expectWholeCopies(): Promise<void> {
  const rows = rowsOf('data')
  await run('backup ./backup --data-dir ./data')
  await run('backup ./backup --check --data-dir ./data')
  mkdirSync(join(folder, 'restored', 'simulated'), { recursive: true })
  cpSync(join(folder, 'data/simulated/sealing.key'), join(folder, 'restored/simulated/sealing.key'))
  await run('restore ./backup --data-dir ./restored')
  expect(rowsOf('restored')).toEqual(rows)
  expect(archivedIn('restored')).toBe(0)
  expect(await givenToCopies('data')).toEqual(await givenToCopies('restored'))
  const refused = await runSignal(
    'archive',
    join(folder, 'archive'),
    '--older-than',
    '1d',
    '--eventstore-url',
    'esdb://localhost:2113',
    '--data-dir',
    join(folder, 'data'),
  )
  expect(refused).toMatchObject({ code: 2, said: expect.stringContaining('EventStoreDB') })
}

/** The events that `signal store copy` reads from a log. */
async function givenToCopies(dataDir: string): Promise<readonly unknown[]> {
  const source = openEmbeddedSource(join(folder, dataDir, 'simulated'))
  try {
    return await Array.fromAsync(source.events())
  } finally {
    source.close()
  }
}
