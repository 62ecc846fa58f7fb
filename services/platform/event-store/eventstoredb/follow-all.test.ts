import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { START } from '../../../../contracts/position.ts'
import { anEvent, collect } from '../event-store.contract.ts'
import type { EventStore, SubscriptionItem } from '../event-store.ts'
import { startWireDouble, type WireDouble } from '../wire-double/wire-double.ts'
import { openEventStoreDbStore } from './eventstoredb-store.ts'

let double: WireDouble
let store: EventStore
let ending: AbortController
/** Waits before each try to resume; they take no time here. */
let waits: number[]
let breaks: string[]

beforeEach(async () => {
  double = await startWireDouble()
  ending = new AbortController()
  waits = []
  breaks = []
  store = openEventStoreDbStore({
    connectionString: double.connectionString,
    random: () => 0,
    sleep: (ms) => {
      waits.push(ms)
      return new Promise((resolve) => setTimeout(resolve, 1))
    },
    onSubscriptionBreak: (error) => breaks.push(error.code),
  })
})
afterEach(async () => {
  ending.abort()
  await store.close()
  double.stop()
})

const appendTo = async (stream: string, count: number, type?: string): Promise<string[]> => {
  const events = Array.from({ length: count }, () => anEvent({ text: 'x'.repeat(500) }, type))
  await store.append(stream, events, { expected: 'any' })
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

describe('what a subscription gives', () => {
  test('checkpoints over what does not match, in order, and the head once it has caught up', async () => {
    for (let n = 0; n < 5; n++) await appendTo('s-1', 250, n === 0 ? 'WantedHappened' : 'OtherHappened')
    const seen: SubscriptionItem[] = []
    for await (const item of subscribe({ types: ['WantedHappened'] })) {
      seen.push(item)
      if (item.kind === 'caught-up') for (let n = 0; n < 2; n++) await appendTo('s-1', 250, 'OtherHappened')
      if (seen.at(-2)?.kind === 'caught-up') break
    }
    const all = await collect(store.readAll())
    expect(seen.slice(0, 250).map((item) => item.kind)).toEqual(Array(250).fill('event'))
    expect(seen.slice(-3)).toEqual([
      { kind: 'checkpoint', position: all[999]?.position },
      { kind: 'caught-up', position: all[1_249]?.position },
      { kind: 'checkpoint', position: all[1_499]?.position },
    ])
    // A checkpoint that the next one overtook before it was taken is not given.
    const overtaken = seen.slice(250, -3)
    const first = { kind: 'checkpoint', position: all[499]?.position }
    expect(overtaken).toEqual(overtaken.length === 0 ? [] : [first])
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

  test('an event that cannot be read ends it with the error', async () => {
    double.log.append(
      's-foreign',
      [
        {
          id: crypto.randomUUID(),
          headers: new Map([['type', 'Foreign']]),
          data: new Uint8Array(),
          metadata: new Uint8Array(),
        },
      ],
      'any',
    )
    await expect(collect(subscribe())).rejects.toMatchObject({ code: 'event_unreadable' })
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
