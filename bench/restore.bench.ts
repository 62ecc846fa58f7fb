import { randomBytes } from 'node:crypto'
import { closeSync, copyFileSync, fsyncSync, mkdtempSync, openSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFolderStorage } from '../services/log/backup/folder-storage.ts'
import { restoreBackup } from '../services/log/backup/restore-backup.ts'
import { takeBackup } from '../services/log/backup/take-backup.ts'
import { buildLog } from '../services/log/embedded/build-log.ts'
import { logFile } from '../services/log/embedded/embedded-store.ts'
import { openStoredRows, type StoredRow } from '../services/log/embedded/stored-rows.ts'
import { timedUuidV8, uuidV8 } from '../services/runtime/ids/uuid.ts'
import { print, timed } from './support/measure.ts'
import { sampleVerdict } from './support/sample-events.ts'

/**
 * A backup and a restore, beside two ceilings: the file copied as it is, and the same rows put into SQLite with
 * their indexes, of which nothing is compared.
 *
 * node bench/restore.bench.ts          BENCH_EVENTS=10000000 BENCH_CEILINGS=0 BENCH_DIR=/path
 */
/** Ten million events in five minutes. */
const WANTED_PER_S = 10_000_000 / 300
const EVENTS = Number(process.env.BENCH_EVENTS ?? 200_000)
const HAS_CEILINGS = process.env.BENCH_CEILINGS !== '0'
const STREAMS = 100
const directory = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'bench-restore-'))
const signal = new AbortController().signal
const onProgress = (): void => undefined

const template = sampleVerdict(0, randomBytes, Date.UTC(2025, 0, 1))
const meta = JSON.stringify(template.meta)

function rowAt(position: number): StoredRow {
  const [coin, bar] = [position % STREAMS, Math.floor(position / STREAMS)]
  const time = Date.UTC(2025, 0, 1) + bar * 60_000
  const isFirst = position === 1
  const id = isFirst ? uuidV8(randomBytes(16)) : timedUuidV8(time, randomBytes(10).toString('hex'))
  const data = isFirst
    ? { market: 'simulated', seed: 'demo', secretFingerprint: 'f'.repeat(64) }
    : { ...template.data, verdictId: id, coin: `C${coin}` }
  const stream = isFirst ? 'store-identity' : `verdict-SIM.C${coin}.1m`
  const type = isFirst ? 'LogBegun' : template.type
  const revision = isFirst ? 0 : bar - (coin === 1 ? 1 : 0)
  const at = new Date(time).toISOString()
  return [position, stream, revision, type, isFirst ? 1 : template.schema, id, at, JSON.stringify(data), meta]
}

function fill(): void {
  const build = buildLog(logFile(directory))
  for (let position = 1; position <= EVENTS; ) {
    const rows: StoredRow[] = []
    for (; rows.length < 1_000 && position <= EVENTS; position++) rows.push(rowAt(position))
    build.insert(rows)
  }
  build.index()
  build.finish()
}

const KEY = Buffer.alloc(32, 1)

async function restore(): Promise<void> {
  await restoreBackup({
    storage: openFolderStorage(join(directory, 'backup')),
    directory: join(directory, 'restored'),
    key: KEY,
    erased: new Set(),
    accept: onProgress,
    inspect: onProgress,
    remember: onProgress,
    signal,
    onProgress,
  })
}

async function backUp(): Promise<void> {
  const rows = openStoredRows(logFile(directory))
  const storage = openFolderStorage(join(directory, 'backup'))
  await takeBackup({ rows, storage, key: KEY, now: Date.now, signal, onProgress })
  rows.close()
}

function copyFile(): void {
  const to = join(directory, 'copied.db')
  copyFileSync(logFile(directory), to)
  const handle = openSync(to, 'r')
  fsyncSync(handle)
  closeSync(handle)
  rmSync(to)
}

/** Nothing unpacked, nothing compared. */
function insertOnly(): void {
  const to = join(directory, 'inserted.db')
  const rows = openStoredRows(logFile(directory))
  const build = buildLog(to)
  for (let after = 0; after < EVENTS; after += 2_000) build.insert(rows.everything(after, EVENTS, 2_000))
  build.index()
  build.finish()
  rows.close()
  rmSync(to)
}

try {
  fill()
  const bytes = statSync(logFile(directory)).size
  print(`${EVENTS.toLocaleString('en')} events, ${Math.round(bytes / 1e6).toLocaleString('en')} MB`)
  const inserted = HAS_CEILINGS ? await timed(insertOnly) : undefined
  const cpuBefore = process.cpuUsage()
  const found: [string, number][] = [
    ...(inserted === undefined ? [] : [['rows read and put into SQLite', inserted] as [string, number]]),
    ...(inserted === undefined ? [] : [['file copied', await timed(copyFile)] as [string, number]]),
    ['backup, first', await timed(backUp)],
    ['backup, nothing new', await timed(backUp)],
    ['restore, verified', await timed(restore)],
  ]
  for (const [what, milliseconds] of found) {
    const rate = Math.round((EVENTS * 1_000) / milliseconds).toLocaleString('en')
    const ratio = inserted === undefined ? '' : `  ${(milliseconds / inserted).toFixed(2)} × the rows alone`
    print(`${what.padEnd(32)} ${(milliseconds / 1_000).toFixed(2)} s  ${rate} events/s${ratio}`)
  }
  const { user, system } = process.cpuUsage(cpuBefore)
  print(`all of it took ${((user + system) / 1e6).toFixed(1)} s of a core`)
  const perS = (EVENTS * 1_000) / (found.at(-1)?.[1] ?? Number.NaN)
  print(
    `a restore of ten million in five minutes takes ${Math.round(WANTED_PER_S).toLocaleString('en')}/s: ${(perS / WANTED_PER_S).toFixed(2)} of it`,
  )
} finally {
  rmSync(directory, { recursive: true, force: true })
}
