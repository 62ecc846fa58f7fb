import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MINUTE_MS } from '../../../contracts/domain/timeframes.ts'
import { aVerdict } from '../../../contracts/domain/verdict.fixture.ts'
import type { DeliveryAttempt } from '../../../contracts/events/delivery-events.ts'
import { VerdictRecorded } from '../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { verdictStream } from '../../../contracts/events/streams.ts'
import { appendNext } from '../../../testing/append-next.ts'
import { openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { uuidV7 } from '../../runtime/ids/uuid.ts'
import { anId, NOON } from '../signals/testing/signal-log.fixture.ts'
import { deliveriesBackwards, readDeliveries } from './read-deliveries.ts'

const SIGNALS = 1_200
const PER_APPEND = 100
/** So many deliveries are recorded at least before a process is killed. */
const KILL_AFTER = [3, 40, 111, 250] as const

const directory = mkdtempSync(join(tmpdir(), 'delivery-log-'))

beforeAll(async () => {
  const store = await openEmbeddedStore({ directory, now: Date.now })
  for (let first = 0; first < SIGNALS; first += PER_APPEND) {
    const events = Array.from({ length: PER_APPEND }, (_, n) => {
      const verdictId = uuidV7(NOON, randomBytes(10))
      const barClose = NOON + (first + n) * MINUTE_MS
      const data = aVerdict({ call: n % 2 === 0 ? 'BUY' : 'SELL', timeframe: '1m', verdictId, barClose })
      return newEvent(VerdictRecorded, {
        id: verdictId,
        data,
        meta: { correlationId: 'test', actor: 'test' },
      })
    })
    await appendNext(store, verdictStream(aVerdict({ timeframe: '1m' })), events)
  }
  await store.close()
})

afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** Runs the delivering process until it has recorded so many, then kills it; answers its lines. */
async function runUntilKilled(token: number, killAfter: number): Promise<string[]> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'testing', 'crash-child.ts'), directory, String(token)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const exited = once(child, 'exit')
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    if (lines.length === killAfter) child.kill('SIGKILL')
  }
  await exited
  return lines
}

test('killed while it delivers: nothing recorded is lost, no number stands for two signals, the rest goes on', async () => {
  const recorded: string[] = []
  for (const [token, killAfter] of [...KILL_AFTER, Infinity].entries()) {
    recorded.push(...(await runUntilKilled(token, killAfter)))
  }
  expect(recorded.pop()).toBe('done')

  const store = await openEmbeddedStore({ directory, now: Date.now })
  const subscription = { subscriptionId: anId(1), startAfter: 'start' }
  const state = await readDeliveries(store, subscription)
  const attempts: DeliveryAttempt[] = []
  for await (const event of deliveriesBackwards(store, subscription.subscriptionId)) {
    if (event.type === 'DeliveriesAttempted') attempts.push(...event.data.attempts)
  }
  const ids = new Map(attempts.map(({ sequence, deliveryId }) => [sequence, deliveryId]))
  expect(attempts.filter(({ sequence, deliveryId }) => ids.get(sequence) !== deliveryId)).toEqual([])
  expect(new Set(attempts.map(({ deliveryId }) => deliveryId)).size).toBe(SIGNALS)

  // What was acknowledged is there as it was said; what was not is made again, and so recorded once more at most.
  const inLog = new Set(attempts.map(({ sequence, result }) => `${sequence} ${result}`))
  expect(recorded.filter((line) => !inLog.has(line))).toEqual([])
  expect(state.cursor.sequence).toBe(SIGNALS + 1)
  expect([...state.open.keys()].toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: SIGNALS / 3 }, (_, n) => 3 * (n + 1)),
  )
  expect(state.counts).toEqual({
    delivered: (SIGNALS / 3) * 2,
    failed: SIGNALS / 3,
    exhausted: 0,
    skipped: 0,
  })
  await store.close()
}, 60_000)
