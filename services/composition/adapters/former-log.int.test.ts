import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { appendNext } from '../../../testing/append-next.ts'
import { startWireDouble } from '../../../testing/eventstoredb-double/wire-double.ts'
import { collect } from '../../log/event-store.contract.ts'
import { openEventStoreDbStore } from '../../log/eventstoredb/eventstoredb-store.ts'
import { readSettings } from '../../runtime/config/read-settings.ts'
import { startOf } from '../start.fixture.ts'
import { openPlatform } from './open-platform.ts'

/** The first 14 events of a log that release 0.2.0 wrote, in its file. */
const LOG = gunzipSync(readFileSync(join(import.meta.dirname, '../../../fixtures/log-of-0.2.db.gz')))
const REFUSAL = {
  code: 'store_mismatch',
  message: expect.stringMatching(
    /^the log (?:in this folder )?is of release 0\.2 or older.* and this release reads.*nothing was changed$/,
  ),
  nextStep: expect.stringMatching(/^Release 0\.2 reads it\. Start this release .*DATA_DIR/),
}

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'former-log-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

async function start(environment: NodeJS.ProcessEnv = {}): Promise<void> {
  const settings = readSettings(['--data-dir', directory], {
    SEALING_KEY: Buffer.alloc(32, 7).toString('base64'),
    ...environment,
  })
  const opening = startOf(settings)
  try {
    await openPlatform(opening)
  } finally {
    await opening.shutdown.stop()
  }
}

/** The events of the file, as they were appended. */
function events() {
  const file = join(directory, 'former.db')
  writeFileSync(file, LOG)
  const db = new DatabaseSync(file)
  const rows = db.prepare('SELECT stream, id, type, schema, data, meta FROM event ORDER BY position').all()
  db.close()
  return rows.map(({ stream, id, type, schema, data, meta }) => ({
    stream: String(stream),
    event: {
      id: String(id),
      type: String(type),
      schema: Number(schema),
      data: JSON.parse(String(data)),
      meta: JSON.parse(String(meta)),
    },
  }))
}

test('a folder of release 0.2 is refused with one sentence, and nothing in it is changed', async () => {
  const folder = join(directory, 'simulated')
  mkdirSync(folder)
  writeFileSync(join(folder, 'events.db'), LOG)
  await expect(start()).rejects.toMatchObject(REFUSAL)
  expect(readdirSync(folder)).toEqual(['events.db'])
  expect(readFileSync(join(folder, 'events.db')).equals(LOG)).toBe(true)
})

test('a database of release 0.2 is refused with one sentence, and nothing is appended to it', async () => {
  const double = await startWireDouble()
  const store = openEventStoreDbStore({ connectionString: double.connectionString })
  try {
    for (const { stream, event } of events()) await appendNext(store, stream, [event])
    const head = await store.head()
    await expect(start({ EVENTSTORE_URL: double.connectionString, STORE_WAIT: '0' })).rejects.toMatchObject(
      REFUSAL,
    )
    expect(await store.head()).toBe(head)
    expect(await collect(store.readAll())).toHaveLength(14)
  } finally {
    await store.close()
    double.stop()
  }
})

test('a log of another release is refused, too', async () => {
  const double = await startWireDouble()
  const store = openEventStoreDbStore({ connectionString: double.connectionString })
  const data = { release: '0.9', market: 'simulated', seed: 'signal', secretFingerprint: 'a'.repeat(64) }
  const id = '0190a000-0000-7000-8000-000000000001'
  const first = { id, type: 'LogBegun', schema: 1, data, meta: { correlationId: 'c', actor: 'start' } }
  try {
    await store.append('store-identity', [first], { expected: 'no-stream' })
    await expect(start({ EVENTSTORE_URL: double.connectionString })).rejects.toThrow(
      'the log is of release 0.9',
    )
  } finally {
    await store.close()
    double.stop()
  }
})
