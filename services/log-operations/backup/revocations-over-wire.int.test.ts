import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { NewEvent } from '../../../contracts/event.ts'
import { startWireDouble, type WireDouble } from '../../../testing/eventstoredb-double/wire-double.ts'
import { LOOKS_AGAIN } from '../../log/append-until-known.ts'
import type { EventStore } from '../../log/event-store.ts'
import { openEventStoreDbStore } from '../../log/eventstoredb/eventstoredb-store.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { keepRevocations } from './keep-revocations.ts'
import { eventsOf } from './testing/made-log.fixture.ts'

const ACCOUNT = `account-${randomUUID()}`
let folder: string
const closers: (() => Promise<void> | void)[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'revoked-'))
})
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
  rmSync(folder, { recursive: true, force: true })
})

async function startServer(): Promise<WireDouble> {
  const double = await startWireDouble()
  closers.push(() => double.stop())
  return double
}

/** A process over a server, with its list in a folder of its own. */
async function open({ connectionString }: WireDouble, file: string): Promise<EventStore> {
  const store = openEventStoreDbStore({ connectionString })
  closers.push(() => store.close())
  const ending = new AbortController()
  closers.push(() => ending.abort())
  const report = () => undefined
  const path = { policy: LOOKS_AGAIN, now: Date.now, sleep, signal: ending.signal }
  return keepRevocations({ ...path, store, file: join(folder, file), report })
}

const event = (type: string): NewEvent => ({
  id: randomUUID(),
  type,
  schema: 1,
  data: { keyId: randomUUID() },
  meta: { correlationId: 'a test', actor: 'test' },
})

test('over EventStoreDB each process lists what any of them revokes, and a server that was set back is given it again', async () => {
  const server = await startServer()
  const [one, two] = [await open(server, 'one'), await open(server, 'two')]
  const [begun, first, second] = [event('KeyIssued'), event('KeyRevoked'), event('AppEnded')]
  await one.append(ACCOUNT, [begun], { expected: 'no-stream' })
  await one.append(ACCOUNT, [first], { expected: 0 })
  await two.append(ACCOUNT, [second, event('KeyIssued')], { expected: 1 })
  const listed = (name: string): string[] =>
    [first, second].map(({ id }) => id).filter((id) => readFileSync(join(folder, name), 'utf8').includes(id))
  expect(listed('two')).toEqual([first.id, second.id])
  while (listed('one').length < 2) await sleep(10, new AbortController().signal)

  const earlier = await startServer()
  await (await open(earlier, 'nobody')).append(ACCOUNT, [begun], { expected: 'no-stream' })
  const restored = await open(earlier, 'one')
  expect((await eventsOf(restored.read(ACCOUNT))).map(({ id }) => id)).toEqual([
    begun.id,
    first.id,
    second.id,
  ])
  await open(earlier, 'two')
  expect(await eventsOf(restored.read(ACCOUNT))).toHaveLength(3)
})
