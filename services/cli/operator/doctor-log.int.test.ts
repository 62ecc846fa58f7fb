import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { anEvent } from '../../log/event-store.contract.ts'
import { runSignal } from '../kit/run-signal.fixture.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'doctor-log-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const examine = (): Promise<{ code: number; said: string }> =>
  runSignal('doctor', '--log', '--data-dir', folder)

test('doctor --log reads every event of a log, and names one that was changed on the disk', async () => {
  const directory = join(folder, 'simulated')
  mkdirSync(directory)
  const store = await openEmbeddedStore({ directory, now: Date.now })
  for (let n = 0; n < 40; n++)
    await store.append(`s-${n}`, [anEvent({ text: `event number ${n} of many` })], { expected: 'no-stream' })
  await store.close()
  expect((await examine()).said).toMatch(/^ok +log +40 events, each as it was written$/m)

  const file = join(directory, 'events.db')
  const bytes = readFileSync(file)
  const at = bytes.indexOf('event number 17 of many')
  bytes[at] = (bytes[at] ?? 0) ^ 1
  writeFileSync(file, bytes)
  const { said } = await examine()
  expect(said).toMatch(/^fault +log +the log .* is damaged: 1 faults, .*position 18 /m)
})
