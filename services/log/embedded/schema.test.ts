import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { prepareWriter } from './schema.ts'

test('the connection that appends has each commit on the disk before it is answered', () => {
  const folder = mkdtempSync(join(tmpdir(), 'durable-'))
  const db = new DatabaseSync(join(folder, 'events.db'))
  prepareWriter(db)
  // FULL; NORMAL would leave the newest commits to the operating system.
  expect(db.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
  expect(db.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
  db.close()
  rmSync(folder, { recursive: true })
})
