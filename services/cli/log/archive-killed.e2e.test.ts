import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { appendSeries } from '../../log/embedded/archived-log.fixture.ts'
import { logFile, openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { openStoredRows, type StoredRow } from '../../log/embedded/stored-rows.ts'

const COMMAND_LINE = join(import.meta.dirname, '../../signal.js')
const COUNT = 12_000
let folder: string
let file: string
let rows: readonly StoredRow[]
const children: ChildProcess[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'archive-killed-'))
  const directory = join(folder, 'data', 'simulated')
  file = logFile(directory)
  const store = await openEmbeddedStore({ directory, now: Date.now })
  await appendSeries(store, { count: COUNT })
  await store.close()
  rows = rowsNow()
}, 120_000)
afterEach(() => {
  for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function rowsNow(): readonly StoredRow[] {
  const opened = openStoredRows(file)
  try {
    return opened.everything(0, Infinity, Number.MAX_SAFE_INTEGER)
  } finally {
    opened.close()
  }
}

function countIn(sql: string): number {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
  try {
    return Number(db.prepare(`SELECT count(*) AS count FROM ${sql}`).get()?.count)
  } finally {
    db.close()
  }
}
const archived = (): number => countIn("event WHERE data LIKE 'archived%'")
const blocks = (): number =>
  countIn("sqlite_schema WHERE name = 'archive_block'") === 0 ? 0 : countIn('archive_block')

const folderNow = (): string[] => {
  const place = join(folder, 'archive')
  return existsSync(place) ? readdirSync(place) : []
}

/** Runs the command; killed the moment something is so, unless it has ended by then. */
async function archive(killedWhen?: () => boolean): Promise<number | null> {
  const before = new Date(Date.now() + 60_000).toISOString()
  const args = [COMMAND_LINE, 'archive', join(folder, 'archive'), '--before', before]
  const child = spawn(process.execPath, [...args, '--data-dir', join(folder, 'data')], {
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'ignore', 'inherit'],
    // The command may run in a process of its own: all of them are killed.
    detached: true,
  })
  children.push(child)
  const ended = once(child, 'close')
  if (killedWhen !== undefined) {
    while (child.exitCode === null && !killedWhen()) await delay(1)
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  }
  await ended
  return child.exitCode
}

test('killed while it writes a file, before it uses it and between pages, it leaves every event readable, and goes on', async () => {
  const most = COUNT * 1.5
  const moments: readonly (() => boolean)[] = [
    () => folderNow().some((name) => name.endsWith('.unfinished')),
    () => folderNow().some((name) => name.endsWith('.zst')),
    () => blocks() > 0,
    () => blocks() > 32,
    () => blocks() > 64,
  ]
  for (const moment of moments) {
    expect(await archive(moment)).toBeNull()
    expect(rowsNow()).toEqual(rows)
    expect(archived()).toBeLessThan(most)
  }
  expect(await archive()).toBe(0)
  expect(archived()).toBe(most)
  expect(rowsNow()).toEqual(rows)
  expect(folderNow().filter((name) => name.endsWith('.unfinished'))).toEqual([])
}, 240_000)
