import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { appendNext } from '../../../testing/append-next.ts'
import { anEvent, collect } from '../event-store.contract.ts'
import { openEmbeddedStore } from './embedded-store.ts'
import { eraseStream } from './erase-stream.ts'
import { prepareWriter } from './schema.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'store-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** The files of the store that hold a text, in whatever part of them. */
const filesWith = (text: string): string[] =>
  readdirSync(directory).filter((name) => readFileSync(join(directory, name)).includes(text))

/** A key that cannot be anywhere else by chance. */
const wrappedKey = (n: number): string => `wrapped-key-${n}-`.repeat(6)

test('no file of the store holds a byte of what was erased, while it runs and after it closed', async () => {
  const store = await openEmbeddedStore({ directory, now: Date.now })
  const count = 60
  for (let n = 0; n < count; n++) {
    const secret = anEvent({ wrappedKey: wrappedKey(n) }, 'SubjectKeyCreated')
    await store.append(`subject-${n}.0`, [secret], { expected: 'no-stream' })
    await appendNext(store, 's-1', [anEvent({ filler: 'x'.repeat(n * 17) })])
  }
  expect(filesWith(wrappedKey(7))).not.toEqual([])

  const erased = Array.from({ length: count }, (_, n) => n).filter((n) => n % 3 !== 0)
  for (const n of erased) {
    await store.erase(`subject-${n}.0`)
    expect(filesWith(wrappedKey(n)), `key ${n}`).toEqual([])
  }
  await appendNext(store, 's-1', [anEvent()])
  await store.close()
  for (let n = 0; n < count; n++) {
    expect(filesWith(wrappedKey(n)), `key ${n}`).toEqual(n % 3 === 0 ? ['events.db'] : [])
  }
})

test('a write-ahead log that is in use is told, and trying again finishes the work', async () => {
  const store = await openEmbeddedStore({ directory, now: Date.now })
  await store.append('subject-1.0', [anEvent({ wrappedKey: wrappedKey(1) })], { expected: 'no-stream' })
  const reader = new DatabaseSync(join(directory, 'events.db'), { readOnly: true })
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM event').get()
  await expect(store.erase('subject-1.0')).rejects.toMatchObject({ code: 'store_unavailable' })
  expect(await collect(store.read('subject-1.0'))).toEqual([])
  reader.close()
  await store.erase('subject-1.0')
  expect(filesWith(wrappedKey(1))).toEqual([])
  await store.close()
})

test('a checkpoint that fails leaves the writer as patient with other connections as before', () => {
  const db = new DatabaseSync(join(directory, 'events.db'))
  prepareWriter(db)
  // SQLite refuses a checkpoint within a transaction.
  db.exec('BEGIN IMMEDIATE')
  expect(eraseStream(db, 'subject-1.0')).toMatchObject({ code: 'store_unavailable' })
  db.exec('ROLLBACK')
  expect(db.prepare('PRAGMA busy_timeout').get()).toEqual({ timeout: 10_000 })
  db.close()
})
