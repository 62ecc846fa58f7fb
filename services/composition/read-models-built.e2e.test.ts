import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { NewEvent } from '../../contracts/infra/event.ts'
import { startServiceProcess } from '../http/testing/start-service-process.ts'
import { openEmbeddedStore } from '../log/embedded/embedded-store.ts'
import { uuidV7 } from '../runtime/ids/uuid.ts'

const debit = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../contracts/events/fixtures/QuotaDebited.v1.json'), 'utf8'),
) as NewEvent
const SEALING_KEY = Buffer.alloc(32, 7).toString('base64')
const [APPENDS, EVENTS] = [40, 250]

/** A folder with a log of several pages, and no read model. */
async function folderOfLog(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'service-'))
  const directory = join(folder, 'simulated')
  mkdirSync(directory)
  const store = await openEmbeddedStore({ directory, now: Date.now })
  for (let n = 0; n < APPENDS; n++) {
    const events = Array.from({ length: EVENTS }, () => ({
      ...debit,
      id: uuidV7(Date.now(), crypto.getRandomValues(new Uint8Array(10))),
    }))
    await store.append(`quota-${n}`, events, { expected: 'no-stream' })
  }
  await store.close()
  return folder
}

test('a service starts while all its read models are built from the log, and is ready once they are', async () => {
  const dataDirectory = await folderOfLog()
  const service = await startServiceProcess({ TIMEFRAMES: '1h', SEALING_KEY }, { dataDirectory })
  try {
    const statusOf = async (path: string) => (await fetch(`${service.url}${path}`)).status
    await expect.poll(() => statusOf('/readyz'), { timeout: 10_000 }).toBe(200)
    expect(await statusOf('/api/board')).toBe(200)
  } finally {
    await service.stop()
    rmSync(dataDirectory, { recursive: true, force: true })
  }
})
