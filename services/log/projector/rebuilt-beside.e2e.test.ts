import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { VerdictRecorded } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { aVerdict } from '../../../contracts/verdict.fixture.ts'
import { openEmbeddedStore } from '../embedded/embedded-store.ts'
import { startProjector } from './projector.ts'
import { openRowTables } from './row-tables.ts'
import { counter } from './testing/counter.fixture.ts'

const CHILD = join(import.meta.dirname, 'testing/rebuild-child.ts')
/** More than one page of a comparison, and more than one batch to fold. */
const EVENTS = 5_000
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'beside-'))
  const store = await openEmbeddedStore({ directory: join(folder, 'log'), now: Date.now })
  const meta = { correlationId: 'test', actor: 'test' }
  for (let made = 0; made < EVENTS; made += 250) {
    const events = Array.from({ length: 250 }, () => {
      const id = randomUUID()
      return newEvent(VerdictRecorded, { id, data: aVerdict({ verdictId: id }), meta })
    })
    await store.append('verdict-SIM.BTC.1h', events, { expected: 'any' })
  }
  await store.close()
}, 60_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const run = (directory: string, version: number, at = '', signal = 'SIGKILL') =>
  spawn(process.execPath, [CHILD, directory, String(version), at, signal], { stdio: 'inherit' })

/** Answers of the first moment, and after the build; and the files that are left. */
async function opened(directory: string, version: number) {
  const store = await openEmbeddedStore({ directory, now: Date.now })
  const tables = openRowTables(join(directory, 'projections.db'), 'log-1')
  const projector = startProjector({
    store,
    tables,
    projections: [counter(version)],
    sleep: async () => undefined,
  })
  const reader = projector.reader(counter(version))
  await projector.inService()
  const atOnce = reader.get('count')
  await projector.caughtUp()
  const built = reader.get('count')
  await projector.close()
  await store.close()
  openRowTables(join(directory, 'projections.db'), 'log-1').close()
  const left = readdirSync(directory).filter((name) => /row_counter_\d+$/.test(name))
  return { atOnce, built, left }
}

const POINTS = [
  ['while it is built', 'old'],
  ['before the swap', 'old'],
  ['in the transaction', 'old'],
  ['before the old rows go', 'new'],
  ['after the swap', 'new'],
] as const

test.each(POINTS)(
  'a process that is killed %s leaves the %s version whole, and the next one goes on',
  async (at, answers) => {
    const directory = join(folder, at)
    cpSync(join(folder, 'log'), directory, { recursive: true })
    expect(await once(run(directory, 1), 'exit')).toEqual([0, null])
    // The first version lies in the common file, the second one in its own.
    for (const version of [2, 3]) {
      expect(await once(run(directory, version, at), 'exit')).toEqual([null, 'SIGKILL'])
      const answered = answers === 'old' ? version - 1 : version
      expect(await opened(directory, version)).toEqual({
        atOnce: { n: answered * EVENTS },
        built: { n: version * EVENTS },
        left: [`projections.db.row_counter_${version}`],
      })
    }
  },
  60_000,
)

test('a second process is refused while one builds', async () => {
  const directory = join(folder, 'two')
  cpSync(join(folder, 'log'), directory, { recursive: true })
  await once(run(directory, 1), 'exit')
  const child = run(directory, 2, 'before the swap', 'SIGSTOP')
  try {
    const isBuilding = () => readdirSync(directory).includes('projections.db.row_counter_2')
    while (!isBuilding()) await delay(5)
    expect(() => openRowTables(join(directory, 'projections.db'), 'log-1')).toThrow(
      expect.objectContaining({ code: 'store_locked' }),
    )
  } finally {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  expect(await opened(directory, 2)).toMatchObject({ built: { n: 2 * EVENTS } })
}, 60_000)
