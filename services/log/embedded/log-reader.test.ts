import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { defineEvent, upcast } from '../../../contracts/events/event-definition.ts'
import type { RecordedEvent } from '../../../contracts/infra/event.ts'
import { START } from '../../../contracts/infra/position.ts'
import { appendNext } from '../../../testing/append-next.ts'
import { anEvent, collect } from '../event-store.contract.ts'
import type { EventFilter, EventStore } from '../event-store.ts'
import { openEmbeddedStore } from './embedded-store.ts'

let directory: string
let store: EventStore
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'reader-'))
  store = await openEmbeddedStore({ directory, now: Date.now })
})
afterEach(async () => {
  await store.close()
  rmSync(directory, { recursive: true, force: true })
})

/** Follows the log from its beginning; each event is taken by a call. */
function follow(filter?: EventFilter) {
  const signal = new AbortController().signal
  const items = store.subscribe({ after: START, signal, ...(filter && { filter }) })[Symbol.asyncIterator]()
  return async (count: number): Promise<RecordedEvent[]> => {
    const events: RecordedEvent[] = []
    while (events.length < count) {
      const { value } = await items.next()
      if (value?.kind === 'event') events.push(value.event)
    }
    return events
  }
}

const large = (stream: string) => appendNext(store, stream, [anEvent({ text: 'x'.repeat(100_000) })])

test('those who follow the log get the same events, each parsed once', async () => {
  const [one, other] = [follow(), follow({ streamPrefixes: ['verdict-'] })]
  await appendNext(store, 'verdict-SIM.BTC.1h', [anEvent(), anEvent()])
  await appendNext(store, 'subject-1', [anEvent()])
  await appendNext(store, 'lease-1', [anEvent()])
  const [all, some] = [await one(3), await other(2)]
  expect(all.map(({ stream }) => stream)).toEqual(['verdict-SIM.BTC.1h', 'verdict-SIM.BTC.1h', 'lease-1'])
  expect(some[0]).toBe(all[0])
  expect(some[1]).toBe(all[1])
})

test('one who is far behind gets every event in order, also those that are not kept any more', async () => {
  const [quick, slow] = [follow(), follow({ streamPrefixes: ['lease-'] })]
  await large('lease-1')
  expect(await slow(1)).toHaveLength(1)
  // Six megabytes, of which four are kept.
  for (let index = 0; index < 60; index++) {
    await large(index % 2 === 0 ? 'lease-1' : 'verdict-SIM.BTC.1h')
    await quick(1)
  }
  const whole = await collect(store.readAll({ filter: { streamPrefixes: ['lease-'] } }))
  expect((await slow(30)).map(({ position }) => position)).toEqual(
    whole.slice(1).map(({ position }) => position),
  )
  expect(whole).toHaveLength(31)
})

test('an event that is read lazily is parsed once, and keeps its origin when its schema is raised', async () => {
  const event = anEvent({ n: 1 })
  await appendNext(store, 'lease-1', [event])
  const [read] = (await collect(store.read('lease-1', { lazy: true }))) as [RecordedEvent]
  expect(read.data).toEqual({ n: 1 })
  expect(read.data).toBe(read.data)
  const described = { schema: 2, summary: '', data: z.any(), upcast: () => ({ n: 2 }) }
  const raised = upcast(read, defineEvent(event.type, 'lease-1', described))
  expect(raised).toMatchObject({ ...event, schema: 2, data: { n: 2 }, stream: 'lease-1', revision: 0 })
})
