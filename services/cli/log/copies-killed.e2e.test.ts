import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { RecordedEvent } from '../../../contracts/infra/event.ts'
import { appendNext } from '../../../testing/append-next.ts'
import { startWireDouble, type WireDouble } from '../../../testing/eventstoredb-double/wire-double.ts'
import { appendKey, beginLog, readWhole } from '../../log/backup/testing/made-log.fixture.ts'
import { openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { keyFingerprintOf } from '../../runtime/secrets/market-keys.ts'

const COMMAND_LINE = join(import.meta.dirname, '../../signal.js')
/** Some segments of a backup, and some thousand appends to another store. */
const EVENTS = 6_000
const EVENT_BYTES = 4_000
const SEALING_KEY = Buffer.alloc(32, 7).toString('base64')
const meta = { correlationId: 'a test', actor: 'test' }

let folder: string
let whole: readonly RecordedEvent[]
const children: ChildProcess[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'killed-'))
  const store = await openEmbeddedStore({ directory: join(folder, 'data', 'simulated'), now: Date.now })
  const fingerprint = keyFingerprintOf({ SEALING_KEY, MARKET: 'simulated' }, below('data', 'simulated'))
  await beginLog(store, randomUUID(), fingerprint)
  await appendKey(store)
  for (let made = 0; made < EVENTS; made += 200) {
    const events = Array.from({ length: 200 }, (_, index) => ({
      id: randomUUID(),
      type: 'MadeUp',
      schema: 1,
      data: { number: made + index, text: 'x'.repeat(EVENT_BYTES) },
      meta,
    }))
    await appendNext(store, `made-${made % 7}`, events)
  }
  whole = await readWhole(store)
  await store.close()
}, 60_000)
afterEach(() => {
  for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Ended {
  readonly code: number | null
  readonly said: string
}

/** Runs a command of the operator; killed the moment something is so, unless it has ended by then. */
async function signal(args: readonly string[], killedWhen?: () => boolean): Promise<Ended> {
  const child = spawn(process.execPath, [COMMAND_LINE, ...args], {
    env: { PATH: process.env.PATH, FRESH: 'true', SEALING_KEY },
    stdio: ['ignore', 'pipe', 'pipe'],
    // The command may run in a process of its own: all of them are killed.
    detached: true,
  })
  children.push(child)
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (said += String(text)))
  const ended = once(child, 'close')
  if (killedWhen !== undefined) {
    while (child.exitCode === null && !killedWhen()) await delay(1)
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  }
  await ended
  return { code: child.exitCode, said }
}

const below = (...names: string[]): string => join(folder, ...names)
const filesIn = (place: string): number => (existsSync(place) ? readdirSync(place).length : 0)
const sizeOf = (file: string): number => (existsSync(file) ? statSync(file).size : 0)

async function contentOf(directory: string): Promise<readonly RecordedEvent[]> {
  const store = await openEmbeddedStore({ directory, now: Date.now })
  try {
    return await readWhole(store)
  } finally {
    await store.close()
  }
}

describe('killed', () => {
  test('while it backs up, it leaves a backup that is whole as far as it goes, and goes on there', async () => {
    const backup = ['backup', below('backup'), '--data-dir', below('data')]
    for (const segments of [0, 1, 2]) {
      const { code } = await signal(
        backup,
        () => existsSync(below('backup')) && filesIn(below('backup', 'log')) >= segments,
      )
      expect(code).toBeNull()
      const checked = await signal([...backup, '--check'])
      // Nothing is named yet, or what is named is whole.
      expect([0, 19]).toContain(checked.code)
      if (checked.code === 19) expect(checked.said).toContain('holds no backup')
    }
    expect(await signal(backup)).toMatchObject({ code: 0 })
    expect(await signal([...backup, '--check'])).toMatchObject({ code: 0 })
  }, 120_000)

  test('while it restores, it leaves no log behind, and begins anew', async () => {
    const restore = ['restore', below('backup'), '--data-dir', below('restored')]
    const unfinished = below('restored', 'simulated', 'events.db.unfinished')
    for (const bytes of [1, 2_000_000, 20_000_000]) {
      const { code } = await signal(restore, () => sizeOf(unfinished) >= bytes)
      expect(code).toBeNull()
      expect(existsSync(below('restored', 'simulated', 'events.db'))).toBe(false)
    }
    expect(await signal(restore)).toMatchObject({ code: 0 })
    expect(await contentOf(below('restored', 'simulated'))).toEqual(whole)
  }, 120_000)

  describe('while it copies', () => {
    let double: WireDouble
    beforeAll(async () => {
      double = await startWireDouble()
    })
    afterAll(() => double.stop())

    test('to the other store, it goes on where it was', async () => {
      const there = [
        'store',
        'copy',
        '--to',
        'eventstoredb',
        '--data-dir',
        below('data'),
        '--eventstore-url',
        double.connectionString,
      ]
      for (const share of [0, 0.2, 0.4]) {
        const { code } = await signal(there, () => double.log.events.length > share * whole.length)
        expect(code).toBeNull()
      }
      const first = await signal([...there, '--json'])
      expect(first.code).toBe(0)
      expect(JSON.parse(first.said.split('\n').find((line) => line.startsWith('{')) ?? '')).toMatchObject({
        events: whole.length + 1,
      })
    }, 180_000)

    test('to a store that is away, it says how it goes on', async () => {
      const away = ['--eventstore-url', 'esdb://127.0.0.1:1?tls=false']
      const { code, said } = await signal([
        'store',
        'copy',
        '--to',
        'eventstoredb',
        '--data-dir',
        below('data'),
        ...away,
      ])
      expect([code, said]).toEqual([5, expect.stringContaining('Run the same command again')])
    }, 60_000)
  })
})
