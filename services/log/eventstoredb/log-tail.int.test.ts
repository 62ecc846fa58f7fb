import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { START } from '../../../contracts/infra/position.ts'
import { appendNext } from '../../../testing/append-next.ts'
import { startWireDouble, type WireDouble } from '../../../testing/eventstoredb-double/wire-double.ts'
import { anEvent, collect } from '../event-store.contract.ts'
import type { EventStore, SubscriptionItem } from '../event-store.ts'
import { openEventStoreDbStore } from './eventstoredb-store.ts'

let double: WireDouble
let store: EventStore
let ending: AbortController
/** Waits before each try to resume; they take no time here. */
let waits: number[]
let breaks: string[]
let foreign: string[]
let mismatches: string[]

beforeEach(async () => {
  double = await startWireDouble()
  ending = new AbortController()
  waits = []
  breaks = []
  foreign = []
  mismatches = []
  store = openEventStoreDbStore({
    connectionString: double.connectionString,
    random: () => 0,
    sleep: (ms) => {
      waits.push(ms)
      return new Promise((resolve) => setTimeout(resolve, 1))
    },
    onSubscriptionBreak: (error) => breaks.push(error.code),
    onForeignEvent: ({ stream }) => foreign.push(stream),
    onMismatch: ({ code }) => mismatches.push(code),
  })
})
afterEach(async () => {
  ending.abort()
  await store.close()
  double.stop()
})

const appendTo = async (stream: string, count: number, type?: string): Promise<string[]> => {
  const events = Array.from({ length: count }, () => anEvent({ text: 'x'.repeat(500) }, type))
  await appendNext(store, stream, events)
  return events.map((event) => event.id)
}

const subscribe = (filter?: Parameters<EventStore['subscribe']>[0]['filter']) =>
  store.subscribe({ after: START, signal: ending.signal, ...(filter && { filter }) })

describe('a subscription that breaks', () => {
  const breakings: [string, () => Promise<void> | void][] = [
    ['an error', () => double.endSubscriptions('error')],
    ['a silent end', () => double.endSubscriptions('silent')],
    ['a restart of the server', () => double.restart()],
  ]
  test.each(breakings)('by %s goes on without loss or repeat', async (_name, breakOff) => {
    const expected = await appendTo('s-1', 20)
    const seen: string[] = []
    let caughtUp = 0
    for await (const item of subscribe()) {
      if (item.kind === 'event') seen.push(item.event.id)
      if (seen.length === 40) break
      if (item.kind !== 'caught-up') continue
      caughtUp += 1
      if (caughtUp === 1) await breakOff()
      if (caughtUp === 2) expected.push(...(await appendTo('s-1', 20)))
    }
    expect(seen).toEqual(expected)
    expect(caughtUp).toBe(2)
    expect(breaks.length).toBeGreaterThan(0)
    expect(new Set(breaks)).toEqual(new Set(['store_unavailable']))
  })

  test('in the middle of a catch-up goes on after the last event that was taken', async () => {
    const expected: string[] = []
    for (let n = 0; n < 4; n++) expected.push(...(await appendTo('s-1', 250)))
    const seen: string[] = []
    for await (const item of subscribe()) {
      if (item.kind === 'event') seen.push(item.event.id)
      if (seen.length === 100 || seen.length === 101) double.endSubscriptions('error')
      if (seen.length === 1_000) break
    }
    expect(seen).toEqual(expected)
  })

  test('waits longer after each failure, up to ten seconds, until it is aborted', async () => {
    double.stop()
    const items = collect(subscribe())
    while (waits.length < 9) await new Promise((resolve) => setImmediate(resolve))
    ending.abort()
    expect(await items).toEqual([])
    expect(waits.slice(0, 9)).toEqual([50, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000])
  })

  test('from the end: what is appended while it is broken is not missed', async () => {
    await appendTo('s-1', 3)
    const seen: string[] = []
    let later: string[] | undefined
    for await (const item of store.subscribe({ after: 'end', signal: ending.signal })) {
      if (item.kind === 'event') seen.push(item.event.id)
      if (seen.length === 2) break
      if (item.kind === 'caught-up' && later === undefined) {
        double.endSubscriptions('silent')
        later = await appendTo('s-1', 2)
      }
    }
    expect(seen).toEqual(later)
  })
})

describe('another log behind the same address', () => {
  /** The server of another log, which begins with so many events of the one before. */
  async function exchange(count: number, others: number): Promise<WireDouble> {
    const { events } = double.log
    double.stop()
    const other = await startWireDouble({ port: double.port })
    for (const { stream, id, headers, data, metadata } of events.slice(0, count))
      other.log.append(stream, [{ id, headers, data, metadata }], 'any')
    for (let n = 0; n < others; n++) other.log.append('s-foreign', [aForeignEvent()], 'any')
    return other
  }

  test.each([
    ['an empty one', 0, 0],
    ['one of another service', 0, 20],
    ['an older copy', 2, 0],
    ['an older copy that has grown past where this one was', 2, 20],
  ])('%s takes nothing, and ends all who follow', async (_name, count, others) => {
    for (let n = 0; n < 5; n++) await appendTo('s-1', 1)
    const following = collect(subscribe())
    following.catch(() => undefined)
    await vi.waitFor(() => expect(double.calls.subscribe).toBe(1))
    await appendTo('s-1', 1)
    double = await exchange(count, others)
    await expect(following).rejects.toMatchObject({ code: 'store_mismatch' })
    const appending = store.append('s-2', [anEvent()], { expected: 'no-stream' })
    await expect(appending).rejects.toMatchObject({ code: 'store_mismatch' })
    expect(mismatches).toEqual(['store_mismatch'])
    expect(double.log.events).toHaveLength(count + others)
    expect(await store.health()).toMatchObject({ ok: false })
    await expect(collect(store.readAll())).rejects.toMatchObject({ code: 'store_mismatch' })
  })

  test('nothing is appended until the log that answers behind a break is verified', async () => {
    await appendTo('s-1', 1)
    const following = collect(subscribe())
    await vi.waitFor(() => expect(double.calls.subscribe).toBe(1))
    await double.restart()
    const { read } = double.calls
    await vi.waitFor(() => appendNext(store, 's-1', [anEvent()]), { timeout: 5_000 })
    expect(double.calls.read).toBeGreaterThan(read)
    expect(double.calls.append).toBe(2)
    expect(mismatches).toEqual([])
    ending.abort()
    await following
  })
})

describe('many that follow', () => {
  test('share one subscription of the server, wherever each of them begins', async () => {
    const ids = await appendTo('s-1', 30)
    const all = await collect(store.readAll())
    const followed = [START, ...all.slice(0, 9).map(({ position }) => position)].map((after) =>
      take(store.subscribe({ after, signal: ending.signal })),
    )
    await vi.waitFor(() => expect(double.calls.subscribe).toBe(1))
    const [last] = await appendTo('s-2', 1, 'LastHappened')
    for (const [index, seen] of (await Promise.all(followed)).entries()) {
      expect(seen).toEqual([...ids.slice(index), last])
    }
    expect(double.calls.subscribe).toBe(1)
  })

  test('are not cut off by a burst: it is resumed at once, and nothing is lost', async () => {
    const slow = take(subscribe(), 5)
    const quick = take(subscribe())
    await vi.waitFor(() => expect(double.calls.subscribe).toBe(1))
    const ids: string[] = []
    for (let n = 0; n < 12; n++) ids.push(...(await appendTo('s-1', 200)))
    ids.push(...(await appendTo('s-1', 1, 'LastHappened')))
    expect(await quick).toEqual(ids)
    expect(await slow).toEqual(ids)
    expect(breaks.length).toBeGreaterThan(0)
    expect(waits).toEqual([])
  })
})

/** Ids of events up to the last one, with a pause after so many. */
async function take(items: AsyncIterable<SubscriptionItem>, pauseAfter = Infinity): Promise<string[]> {
  const seen: string[] = []
  for await (const item of items) {
    if (item.kind !== 'event') continue
    seen.push(item.event.id)
    if (item.event.type === 'LastHappened') break
    if (seen.length % pauseAfter === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  return seen
}

async function newestPlaceOf(filter: NonNullable<Parameters<EventStore['subscribe']>[0]['filter']>) {
  for await (const item of subscribe(filter)) if (item.kind === 'caught-up') return item.position
  return undefined
}

const aForeignEvent = () => ({
  id: crypto.randomUUID(),
  headers: new Map([['type', 'Foreign']]),
  data: new Uint8Array(),
  metadata: new Uint8Array(),
})

describe('what a subscription gives', () => {
  test('the places of what does not match, up to the very last one, and never one of the server’s own', async () => {
    for (let n = 0; n < 5; n++) await appendTo('s-1', 250, n === 0 ? 'WantedHappened' : 'OtherHappened')
    double.log.softDelete('s-other')
    const seen: SubscriptionItem[] = []
    for await (const item of subscribe({ types: ['WantedHappened'] })) {
      seen.push(item)
      if (item.kind === 'caught-up') {
        await appendTo('s-1', 2, 'OtherHappened')
        double.log.softDelete('s-other')
      }
      if (seen.at(-2)?.kind === 'caught-up') break
    }
    const places = (await collect(store.readAll())).map(({ position }) => position)
    expect(seen.slice(0, 250).map((item) => item.kind)).toEqual(Array(250).fill('event'))
    const passed = seen.slice(250).flatMap((item) => (item.kind === 'event' ? [] : [item.position]))
    expect(passed.every((position) => places.includes(position))).toBe(true)
    expect(seen.slice(-3).map((item) => item.kind)).toEqual(['checkpoint', 'caught-up', 'checkpoint'])
    expect(passed.slice(-3, -1)).toEqual([places[1_249], places[1_249]])
    expect(await newestPlaceOf({ types: ['WantedHappened'] })).toBe(places.at(-1))
  })

  test('only what matches both parts of a filter, and nothing for an empty list', async () => {
    await appendTo('a-1', 1, 'OneHappened')
    await appendTo('a-1', 1, 'OneHappenedAgain')
    await appendTo('b-1', 1, 'OneHappened')
    const [wanted] = await appendTo('a-2', 1, 'OneHappened')
    const [first] = double.log.events
    const filters = [
      { streamPrefixes: ['a-2'], types: ['OneHappened'] },
      { types: [] },
      { streamPrefixes: [] },
    ]
    for (const [index, filter] of filters.entries()) {
      const seen: string[] = []
      for await (const item of subscribe(filter)) {
        if (item.kind === 'event') seen.push(item.event.id)
        if (item.kind === 'caught-up') break
      }
      expect(seen).toEqual(index === 0 ? [wanted] : [])
    }
    expect(first?.stream).toBe('a-1')
  })

  test('the mark comes after the events that were before it, though they still wait to be taken', async () => {
    const expected = await appendTo('s-1', 10)
    const seen: string[] = []
    for await (const item of subscribe()) {
      seen.push(item.kind === 'event' ? item.event.id : item.kind)
      if (item.kind === 'caught-up') break
      // In these round trips all that follows has come in.
      if (seen.length === 1) for (let n = 0; n < 20; n++) await store.health()
    }
    expect(seen).toEqual([...expected, 'caught-up'])
  })

  test('a slow consumer leaves the events with the server', async () => {
    for (let n = 0; n < 40; n++) await appendTo('s-1', 250)
    const items = subscribe()[Symbol.asyncIterator]()
    await items.next()
    let before = -1
    while (before !== double.calls.eventsSent) {
      before = double.calls.eventsSent
      for (let n = 0; n < 20; n++) await store.health()
    }
    expect(double.calls.eventsSent).toBeLessThan(1_000)
    await items.return?.()
  })

  test('what another service wrote is left out, and told of once', async () => {
    const [before] = await appendTo('s-1', 1)
    double.log.append('s-foreign', [aForeignEvent()], 'any')
    const [behind] = await appendTo('s-1', 1)
    const seen: string[] = []
    for await (const item of subscribe()) {
      if (item.kind === 'event') seen.push(item.event.id)
      if (item.kind === 'caught-up') break
    }
    expect(seen).toEqual([before, behind])
    expect(await collect(store.readAll())).toHaveLength(2)
    expect(foreign).toEqual(['s-foreign'])
  })

  test('closing the store ends it', async () => {
    await appendTo('s-1', 1)
    const kinds: string[] = []
    for await (const item of subscribe()) {
      kinds.push(item.kind)
      if (item.kind === 'caught-up') await store.close()
    }
    expect(kinds).toEqual(['event', 'caught-up'])
  })
})
