import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { appendNext } from '../../testing/append-next.ts'
import { startWireDouble, type WireDouble } from '../../testing/eventstoredb-double/wire-double.ts'
import { openEventStoreDbStore } from '../log/eventstoredb/eventstoredb-store.ts'
import { readSettings } from '../runtime/config/read-settings.ts'
import { type RunningService, startService } from './start-service.ts'

const FILLED = 3_000
/** Events that parts read again: the newest ones, a page for each part at most, and those recorded meanwhile. */
const FEW = 600

const folder = mkdtempSync(join(tmpdir(), 'read-once-'))
let double: WireDouble
let service: RunningService | undefined
afterEach(async () => {
  await service?.stop()
  double.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function start(dataDir = folder, more: Record<string, string> = {}): Promise<void> {
  const environment = {
    ...more,
    EVENTSTORE_URL: double.connectionString,
    SEALING_KEY: Buffer.alloc(32, 7).toString('base64'),
    FRESH: 'true',
    COINS: 'BTC',
    TIMEFRAMES: '1m',
    // Read models go on at the newest event that they follow from: there is one now and then.
    MARKET_SPEED: '60',
    LOG_LEVEL: 'error',
  }
  const flags = ['--port', '0', '--data-dir', dataDir, '--console', 'off']
  service = await startService(readSettings(flags, environment), process.stdout)
  while (!(await fetch(`${service.url}/readyz`)).ok) await delay(50)
}

/** Events that the server gave while a part of them may still be on its way. */
const given = (): number => double.calls.logEventsRead + double.calls.eventsSent

async function untilQuiet(): Promise<number> {
  for (let before = -1, looks = 0; before !== given() && looks < 10; looks++) {
    before = given()
    await delay(1_000)
  }
  return given()
}

/** Fills a log beside a service, which then stops. */
async function fill(): Promise<void> {
  double = await startWireDouble()
  await start()
  const store = openEventStoreDbStore({ connectionString: double.connectionString })
  const meta = { correlationId: 'a test', actor: 'test' }
  for (let made = 0; made < FILLED; made += 200) {
    const events = Array.from({ length: 200 }, () => ({
      id: randomUUID(),
      type: 'MadeUp',
      schema: 1,
      data: {},
      meta,
    }))
    await appendNext(store, 'made-up', events)
  }
  await store.close()
  await service?.stop()
}

test('a start with whole read models reads the log no second time, whichever part follows it', async () => {
  await fill()
  await start()
  await untilQuiet()
  await service?.stop()
  const before = given()
  await start()
  const read = (await untilQuiet()) - before
  expect(double.log.events.length).toBeGreaterThan(FILLED)
  expect(read).toBeLessThan(FEW)
}, 120_000)
