import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type ErrorCode, ServiceError } from '../../contracts/errors/errors.ts'
import type { NewEvent, RecordedEvent } from '../../contracts/infra/event.ts'
import { comparePositions, START } from '../../contracts/infra/position.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { appendNext } from '../../testing/append-next.ts'
import type { EventStore, ExpectedRevision, SubscriptionItem } from './event-store.ts'

/** A point between an append's call and its answer at which the answer can get lost. */
export interface FaultPoint {
  readonly name: string
  /** Makes the next append fail there, once. */
  arm(): void
}

/** An adapter over a fresh, empty log, as the suite needs it. */
export interface EventStoreHarness {
  readonly store: EventStore
  /** Ends and starts what is behind the store; answers the handle on the same log to go on with. */
  restart(): Promise<EventStore>
  readonly faults: readonly FaultPoint[]
  close(): Promise<void>
}

let created = 0

/** An event with an id of its own. */
export function anEvent(data: NewEvent['data'] = { n: created }, type = 'SomethingHappened'): NewEvent {
  created += 1
  const hex = created.toString(16).padStart(12, '0')
  return {
    id: `0190a000-0000-7000-8000-${hex}`,
    type,
    schema: 1,
    data,
    meta: { correlationId: `c${created}`, actor: 'suite' },
  }
}

const someEvents = (count: number, type?: string): NewEvent[] =>
  Array.from({ length: count }, (_, index) => anEvent({ index }, type))

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

const ids = (events: readonly { readonly id: string }[]): string[] => events.map((event) => event.id)

/** The error that refuses work. */
export async function refusal(work: Promise<unknown>): Promise<ServiceError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof ServiceError)) throw new Error('expected a ServiceError', { cause: error })
  return error
}

async function expectRefusal(work: Promise<unknown>, code: ErrorCode): Promise<void> {
  expect((await refusal(work)).code).toBe(code)
}

/** Events of a subscription until there are `count` of them. */
async function take(items: AsyncIterable<SubscriptionItem>, count: number): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = []
  if (count === 0) return events
  for await (const item of items) {
    if (item.kind === 'event') events.push(item.event)
    if (events.length === count) break
  }
  return events
}

/** The statement of what an event store holds, run against every adapter. */
export function describeEventStoreContract(
  name: string,
  openHarness: () => Promise<EventStoreHarness>,
): void {
  describe(`event store contract: ${name}`, () => {
    let harness: EventStoreHarness
    let store: EventStore
    let ending: AbortController

    beforeEach(async () => {
      harness = await openHarness()
      store = harness.store
      ending = new AbortController()
    })
    afterEach(async () => {
      ending.abort()
      await harness.close()
    })

    const subscribe = (after: string, filter?: Parameters<EventStore['subscribe']>[0]['filter']) =>
      store.subscribe({ after, signal: ending.signal, ...(filter && { filter }) })

    describe('expected revision', () => {
      const cases: { expected: ExpectedRevision; missing: boolean; existing: boolean }[] = [
        { expected: 'no-stream', missing: true, existing: false },
        { expected: 1, missing: false, existing: true },
        { expected: 0, missing: false, existing: false },
        { expected: 2, missing: false, existing: false },
      ]
      test.each(cases)('$expected against a missing stream', async ({ expected, missing }) => {
        const appending = store.append('s-1', [anEvent()], { expected })
        if (missing) {
          expect(await appending).toMatchObject({ revision: 0, replayed: false })
        } else {
          const error = await refusal(appending)
          expect(error.code).toBe('revision_conflict')
          expect(error.details).toEqual({ expected, actual: null })
          expect(await collect(store.read('s-1'))).toEqual([])
        }
      })
      test.each(cases)('$expected against a stream at revision 1', async ({ expected, existing }) => {
        await store.append('s-1', someEvents(2), { expected: 'no-stream' })
        const appending = store.append('s-1', [anEvent()], { expected })
        if (existing) {
          expect(await appending).toMatchObject({ revision: 2, replayed: false })
        } else {
          const error = await refusal(appending)
          expect(error.code).toBe('revision_conflict')
          expect(error.details).toEqual({ expected, actual: 1 })
          expect(await collect(store.read('s-1'))).toHaveLength(2)
        }
      })
    })

    test('streams are listed by how their names begin, where the store can list them', async () => {
      for (const stream of ['verdict-B', 's-1', 'verdict-A', 'verdict-A'])
        await appendNext(store, stream, [anEvent()])
      const listed = store.streams?.('verdict-')
      if (listed === undefined) return
      expect(listed.names.toSorted()).toEqual(['verdict-A', 'verdict-B'])
      expect(listed.upTo).toBe(await store.head())
      expect(store.streams?.('verdict-B')?.names).toEqual(['verdict-B'])
      expect(store.streams?.('none-')?.names).toEqual([])
    })

    describe('append', () => {
      test('what was appended reads back as it was', async () => {
        const event: NewEvent = {
          ...anEvent({ text: 'é \u2028 "\\" 🪙', nested: { list: [1, -2.5e-8, null, true, ''] }, empty: {} }),
          schema: 3,
          meta: { correlationId: 'c', causationId: 'x', actor: 'suite', traceparent: '00-ab-cd-01' },
        }
        const { position } = await store.append('s-1', [event], { expected: 'no-stream' })
        const [read] = await collect(store.read('s-1'))
        expect(read).toEqual({ ...event, stream: 's-1', revision: 0, position, at: expect.any(String) })
        expect(new Date(read?.at ?? '').toISOString()).toBe(read?.at)
      })

      test('several events are neighbours, at rising revisions', async () => {
        const batch = someEvents(5)
        const result = await store.append('s-1', batch, { expected: 'no-stream' })
        await appendNext(store, 's-2', someEvents(1))
        const all = await collect(store.readAll())
        expect(ids(all.slice(0, 5))).toEqual(ids(batch))
        expect(all.slice(0, 5).map((event) => event.revision)).toEqual([0, 1, 2, 3, 4])
        expect(result).toEqual({ revision: 4, position: all[4]?.position, replayed: false })
      })

      test('a refused append leaves nothing, whichever of its events is at fault', async () => {
        const taken = anEvent()
        await store.append('s-1', [taken], { expected: 'no-stream' })
        const fresh = someEvents(2)
        await refusal(store.append('s-2', [...fresh, { ...taken, data: { other: true } }], { expected: 0 }))
        await refusal(store.append('s-1', fresh, { expected: 'no-stream' }))
        expect(ids(await collect(store.readAll()))).toEqual([taken.id])
      })

      test('64 writers race for one stream: one winner at each revision', async () => {
        const winners: number[] = []
        const race = async (): Promise<void> => {
          for (let round = 0; round < 3; ) {
            const last = (await collect(store.read('s-race', { direction: 'backwards', limit: 1 })))[0]
            const expected = last === undefined ? 'no-stream' : last.revision
            try {
              winners.push((await store.append('s-race', [anEvent()], { expected })).revision)
              round += 1
            } catch (error) {
              if (!(error instanceof ServiceError) || error.code !== 'revision_conflict') throw error
            }
          }
        }
        await Promise.all(Array.from({ length: 64 }, race))
        const expected = Array.from({ length: 192 }, (_, index) => index)
        expect(winners.toSorted((a, b) => a - b)).toEqual(expected)
        expect((await collect(store.read('s-race'))).map((event) => event.revision)).toEqual(expected)
      }, 120_000)

      test('global order is commit order over racing streams', async () => {
        const writer = async (stream: string): Promise<string[]> => {
          const positions: string[] = []
          for (let n = 0; n < 20; n++) {
            const expected = n === 0 ? 'no-stream' : n - 1
            positions.push((await store.append(stream, [anEvent()], { expected })).position)
          }
          return positions
        }
        const perStream = await Promise.all(Array.from({ length: 8 }, (_, index) => writer(`s-${index}`)))
        for (const positions of perStream) expect(positions).toEqual(positions.toSorted(comparePositions))
        const all = (await collect(store.readAll())).map((event) => event.position)
        expect(all).toEqual(perStream.flat().toSorted(comparePositions))
        expect(new Set(all).size).toBe(160)
      }, 120_000)
    })

    describe('repeating an append', () => {
      const expectations: ExpectedRevision[] = ['no-stream', 0]
      test.each(expectations)('with expected %s answers as the first time', async (expected) => {
        if (expected === 0) await store.append('s-1', [anEvent()], { expected: 'no-stream' })
        const batch = someEvents(2)
        const first = await store.append('s-1', batch, { expected })
        await store.append('s-1', someEvents(3), { expected: first.revision })
        expect(await store.append('s-1', batch, { expected })).toEqual({ ...first, replayed: true })
        expect(await collect(store.read('s-1'))).toHaveLength(expected === 0 ? 6 : 5)
      })

      test('with other meta is still the same fact', async () => {
        const event = anEvent()
        const first = await store.append('s-1', [event], { expected: 'no-stream' })
        const again = { ...event, meta: { correlationId: 'another try', actor: 'suite' } }
        expect(await store.append('s-1', [again], { expected: 'no-stream' })).toEqual({
          ...first,
          replayed: true,
        })
      })

      test.each([
        ['data', { data: { other: true } }],
        ['type', { type: 'SomethingElseHappened' }],
        ['schema', { schema: 2 }],
      ])('with other %s is a conflict', async (_part, change) => {
        const event = anEvent()
        await store.append('s-1', [event], { expected: 'no-stream' })
        await expectRefusal(
          store.append('s-1', [{ ...event, ...change }], { expected: 'no-stream' }),
          'idempotency_conflict',
        )
        expect(ids(await collect(store.readAll()))).toEqual([event.id])
      })

      test('two racing copies of one append give one append', async () => {
        const batch = someEvents(2)
        const results = await Promise.all(
          Array.from({ length: 8 }, () => store.append('s-1', batch, { expected: 'no-stream' })),
        )
        expect(results.filter((result) => !result.replayed)).toHaveLength(1)
        expect(new Set(results.map((result) => `${result.revision}@${result.position}`)).size).toBe(1)
        expect(ids(await collect(store.readAll()))).toEqual(ids(batch))
      })

      test('over a restart answers as the first time', async () => {
        const batch = someEvents(2)
        const first = await store.append('s-1', batch, { expected: 'no-stream' })
        store = await harness.restart()
        expect(await store.append('s-1', batch, { expected: 'no-stream' })).toEqual({
          ...first,
          replayed: true,
        })
        await expectRefusal(store.append('s-1', [anEvent()], { expected: 'no-stream' }), 'revision_conflict')
      })

      test('after a lost acknowledgement at every fault point appends exactly once', async () => {
        let revision = -1
        for (const fault of harness.faults) {
          const batch = someEvents(2)
          const expected = revision === -1 ? 'no-stream' : revision
          fault.arm()
          const lost = await refusal(store.append('s-1', batch, { expected }))
          expect(['append_unknown', 'store_unavailable'], fault.name).toContain(lost.code)
          const result = await store.append('s-1', batch, { expected })
          expect(result.revision, fault.name).toBe(revision + 2)
          revision = result.revision
          const stored = await collect(store.read('s-1'))
          expect(ids(stored.slice(-2)), fault.name).toEqual(ids(batch))
          expect(stored, fault.name).toHaveLength(revision + 1)
        }
      })
    })

    describe('refused before the append', () => {
      const hostileNames = [
        '',
        '$all',
        '$system',
        'Upper',
        'with space',
        'a/b',
        "a';DROP TABLE event;--",
        'a\u0000b',
        'ключ',
        'a\nb',
        `a${'b'.repeat(LIMITS.streamNameCharacters)}`,
        '../../etc/passwd',
      ]
      test.each(hostileNames)('stream name %j', async (stream) => {
        await expectRefusal(appendNext(store, stream, [anEvent()]), 'event_invalid')
        expect(await store.head()).toBe(START)
      })

      const hostileData: [string, unknown][] = [
        ['bigint', { n: 1n }],
        ['undefined', { n: undefined }],
        ['NaN', { n: Number.NaN }],
        ['infinity', { n: [Number.POSITIVE_INFINITY] }],
        ['function', { n: () => 1 }],
        ['date', { n: new Date(0) }],
        ['sparse array', { n: [1, , 3] }], // oxlint-disable-line no-sparse-arrays -- the hole is the case
        ['lone surrogate', { n: '\ud800' }],
        ['__proto__ key', JSON.parse('{"__proto__": 1}')],
        ['array', [1]],
        ['null', null],
      ]
      test.each(hostileData)('data with %s', async (_name, data) => {
        const event = { ...anEvent(), data } as unknown as NewEvent
        await expectRefusal(appendNext(store, 's-1', [anEvent(), event]), 'event_invalid')
        expect(await store.head()).toBe(START)
      })

      test('ids, types, schemas, meta and revisions that are none', async () => {
        const good = anEvent()
        const bad: object[] = [
          { id: 'no-uuid' },
          { id: good.id.toUpperCase().replace('0190A000', 'ABCDEF00') },
          { type: '$metadata' },
          { type: '' },
          { schema: 0 },
          { schema: 1.5 },
          { meta: { actor: 'suite' } },
          { meta: { ...good.meta, more: 1 } },
        ]
        for (const change of bad) {
          const event = { ...good, ...change } as NewEvent
          await expectRefusal(appendNext(store, 's-1', [event]), 'event_invalid')
        }
        await expectRefusal(appendNext(store, 's-1', []), 'event_invalid')
        await expectRefusal(appendNext(store, 's-1', [good, good]), 'event_invalid')
        await expectRefusal(store.append('s-1', [good], { expected: -1 }), 'event_invalid')
        await expectRefusal(store.append('s-1', [good], { expected: 0.5 }), 'event_invalid')
        expect(await store.head()).toBe(START)
      })

      test('more events or bytes than one append takes; the largest that fits is taken', async () => {
        await expectRefusal(
          appendNext(store, 's-1', someEvents(LIMITS.appendEvents + 1)),
          'payload_too_large',
        )
        const huge = anEvent({ text: 'x'.repeat(LIMITS.appendBytes) })
        await expectRefusal(appendNext(store, 's-1', [huge]), 'payload_too_large')
        await appendNext(store, 's-1', someEvents(LIMITS.appendEvents))
        await appendNext(store, 's-1', [anEvent({ text: 'é'.repeat(440_000) })])
        expect(await collect(store.read('s-1'))).toHaveLength(LIMITS.appendEvents + 1)
      })
    })

    describe('read', () => {
      const revisions = async (options?: Parameters<EventStore['read']>[1]): Promise<number[]> =>
        (await collect(store.read('s-1', options))).map((event) => event.revision)

      beforeEach(async () => {
        await store.append('s-1', someEvents(5), { expected: 'no-stream' })
      })

      test('a missing stream is empty', async () => {
        expect(await collect(store.read('s-missing'))).toEqual([])
        expect(await collect(store.read('s-missing', { direction: 'backwards', limit: 1 }))).toEqual([])
      })

      test('bounds are inclusive, in both directions', async () => {
        expect(await revisions()).toEqual([0, 1, 2, 3, 4])
        expect(await revisions({ from: 2 })).toEqual([2, 3, 4])
        expect(await revisions({ to: 2 })).toEqual([0, 1, 2])
        expect(await revisions({ from: 1, to: 3 })).toEqual([1, 2, 3])
        expect(await revisions({ from: 1, limit: 2 })).toEqual([1, 2])
        expect(await revisions({ from: 9 })).toEqual([])
        expect(await revisions({ from: 3, to: 1 })).toEqual([])
        expect(await revisions({ direction: 'backwards' })).toEqual([4, 3, 2, 1, 0])
        expect(await revisions({ direction: 'backwards', from: 3, to: 1 })).toEqual([3, 2, 1])
        expect(await revisions({ direction: 'backwards', from: 3, limit: 1 })).toEqual([3])
        expect(await revisions({ direction: 'backwards', to: 3 })).toEqual([4, 3])
        expect(await revisions({ direction: 'backwards', from: 9 })).toEqual([4, 3, 2, 1, 0])
        expect(await revisions({ limit: 0 })).toEqual([])
      })

      test('more than one page, both ways', async () => {
        const count = LIMITS.readPageEvents + 101
        for (let n = 0; n < count; n += 200) {
          await appendNext(store, 's-2', someEvents(Math.min(200, count - n)))
        }
        const forwards = await collect(store.read('s-2'))
        expect(forwards.map((event) => event.revision)).toEqual(Array.from({ length: count }, (_, n) => n))
        expect(ids(await collect(store.read('s-2', { direction: 'backwards' })))).toEqual(
          ids(forwards).toReversed(),
        )
        expect(ids((await collect(store.readAll())).slice(5))).toEqual(ids(forwards))
      })

      test('ends at an abort in the middle', async () => {
        const aborting = new AbortController()
        const seen: number[] = []
        for await (const event of store.read('s-1', { signal: aborting.signal })) {
          seen.push(event.revision)
          if (seen.length === 2) aborting.abort()
        }
        expect(seen).toEqual([0, 1])
        const abortingAll = new AbortController()
        for await (const event of store.readAll({ signal: abortingAll.signal })) {
          seen.push(event.revision)
          abortingAll.abort()
        }
        expect(seen).toEqual([0, 1, 0])
        expect(await store.append('s-1', [anEvent()], { expected: 4 })).toMatchObject({ revision: 5 })
      })

      test('can be left in the middle without harm', async () => {
        for (let n = 0; n < 20; n++) {
          for await (const event of store.readAll()) {
            expect(event.revision).toBe(0)
            break
          }
        }
        expect(await revisions()).toHaveLength(5)
      })
    })

    describe('readAll', () => {
      test('after is exclusive, upTo inclusive, at every index', async () => {
        for (let n = 0; n < 6; n++) await appendNext(store, `s-${n % 2}`, [anEvent()])
        const all = await collect(store.readAll())
        expect(all).toHaveLength(6)
        expect(await store.head()).toBe(all.at(-1)?.position)
        expect(await collect(store.readAll({ after: START }))).toEqual(all)
        for (const [index, { position }] of all.entries()) {
          expect(await collect(store.readAll({ after: position }))).toEqual(all.slice(index + 1))
          expect(await collect(store.readAll({ upTo: position }))).toEqual(all.slice(0, index + 1))
        }
        expect(await collect(store.readAll({ upTo: START }))).toEqual([])
      })

      test('with a filter of a thousand entries, and leaves others their turn meanwhile', async () => {
        for (let n = 0; n < 5; n++) await appendNext(store, 's-many', someEvents(200))
        const streamPrefixes = Array.from({ length: 1_100 }, (_, n) => `s-${n}.`)
        let turns = 0
        const counting = setInterval(() => {
          turns += 1
        }, 0)
        expect(await collect(store.readAll({ filter: { streamPrefixes } }))).toEqual([])
        expect(
          await collect(store.readAll({ filter: { streamPrefixes: [...streamPrefixes, 's-m'] } })),
        ).toHaveLength(1_000)
        clearInterval(counting)
        expect(turns).toBeGreaterThan(0)
      })

      test('a position of another kind of store is refused', async () => {
        await appendNext(store, 's-1', [anEvent()])
        const foreign = (await store.head()).includes('/') ? '7' : '7/7'
        await expectRefusal(collect(store.readAll({ after: foreign })), 'invalid_request')
        await expectRefusal(collect(store.readAll({ upTo: foreign })), 'invalid_request')
        const following = async () => take(subscribe(foreign), 1)
        await expectRefusal(following(), 'invalid_request')
      })

      test('upTo an instant', async () => {
        const [first] = [await appendNext(store, 's-1', [anEvent()])]
        const [event] = await collect(store.readAll())
        const at = new Date(event?.at ?? '')
        expect(await collect(store.readAll({ upTo: at }))).toHaveLength(1)
        expect(await collect(store.readAll({ upTo: new Date(at.getTime() - 1) }))).toEqual([])
        expect(first.revision).toBe(0)
      })

      test('filters by stream and by type, with a limit that counts matches', async () => {
        const streams = ['verdict-a', 'verdict-b', 'quota-a']
        for (let n = 0; n < 12; n++) {
          const type = n % 2 === 0 ? 'EvenHappened' : 'OddHappened'
          await appendNext(store, streams[n % 3] ?? '', [anEvent({ n }, type)])
        }
        const numbers = async (options: Parameters<EventStore['readAll']>[0]): Promise<unknown[]> =>
          (await collect(store.readAll(options))).map((event) => event.data.n)
        expect(await numbers({ filter: { streamPrefixes: ['verdict-'] } })).toEqual([0, 1, 3, 4, 6, 7, 9, 10])
        expect(await numbers({ filter: { streamPrefixes: ['verdict-a', 'quota-'] } })).toEqual([
          0, 2, 3, 5, 6, 8, 9, 11,
        ])
        expect(await numbers({ filter: { types: ['OddHappened'] } })).toEqual([1, 3, 5, 7, 9, 11])
        const both = { streamPrefixes: ['verdict-'], types: ['OddHappened'] }
        expect(await numbers({ filter: both })).toEqual([1, 3, 7, 9])
        expect(await numbers({ filter: both, limit: 3 })).toEqual([1, 3, 7])
        expect(await numbers({ filter: { types: ['NeverHappened'] } })).toEqual([])
      })

      test('says how far it has looked, also where nothing matches, once all before was taken', async () => {
        const events = 2 * LIMITS.readPageEvents + 10
        for (let n = 0; n < events; n += 10) await appendNext(store, 's-1', someEvents(10))
        const all = (await collect(store.readAll())).map(({ position }) => position)
        for (const filter of [undefined, { types: ['NeverHappened'] }]) {
          const taken: string[] = []
          let looked = 0
          let upTo = ''
          const onLooked = async (at: { upTo: string; events: number }): Promise<void> => {
            looked += at.events
            upTo = at.upTo
            if (filter === undefined) expect(taken).toEqual(all.slice(0, all.indexOf(upTo) + 1))
          }
          const reading = store.readAll({ onLooked, ...(filter && { filter }) })
          for await (const { position } of reading) taken.push(position)
          expect(all).toContain(upTo)
          expect(looked).toBeGreaterThanOrEqual(2 * LIMITS.readPageEvents)
        }
      })
    })

    describe('subscribe', () => {
      test('resumes after every index without loss or repeat', async () => {
        for (let n = 0; n < 8; n++) await appendNext(store, `s-${n % 3}`, [anEvent()])
        const all = await collect(store.readAll())
        expect(await take(subscribe(START), 8)).toEqual(all)
        for (const [index, { position }] of all.slice(0, -1).entries()) {
          expect(await take(subscribe(position), 7 - index)).toEqual(all.slice(index + 1))
        }
      })

      test('says when it has caught up, and goes on with what comes', async () => {
        await store.append('s-1', someEvents(2), { expected: 'no-stream' })
        const kinds: string[] = []
        for await (const item of subscribe(START)) {
          if (item.kind === 'checkpoint') continue
          kinds.push(item.kind)
          if (kinds.length === 3) await store.append('s-1', someEvents(1), { expected: 1 })
          if (kinds.length === 4) break
        }
        expect(kinds).toEqual(['event', 'event', 'caught-up', 'event'])
      })

      test('from the end gives only what is appended later', async () => {
        await store.append('s-1', someEvents(2), { expected: 'no-stream' })
        const later = anEvent()
        const seen: string[] = []
        for await (const item of subscribe('end')) {
          if (item.kind === 'caught-up' && seen.length === 0) {
            await store.append('s-1', [later], { expected: 1 })
          }
          if (item.kind === 'event') {
            seen.push(item.event.id)
            break
          }
        }
        expect(seen).toEqual([later.id])
      })

      test('with a filter reports positions to resume after, matched or not', async () => {
        for (let n = 0; n < 30; n++) {
          await appendNext(store, 's-1', [anEvent({ n }, n === 25 ? 'RareHappened' : 'OftenHappened')])
        }
        const filter = { types: ['RareHappened'] }
        const seen: SubscriptionItem[] = []
        for await (const item of subscribe(START, filter)) {
          seen.push(item)
          if (item.kind === 'caught-up') break
        }
        expect(seen.filter((item) => item.kind === 'event')).toHaveLength(1)
        const last = seen.at(-1)
        if (last?.kind !== 'caught-up') throw new Error('the last item is the caught-up mark')
        expect(comparePositions(last.position, await store.head())).toBeGreaterThanOrEqual(0)
        const next = anEvent({}, 'RareHappened')
        await store.append('s-1', [next], { expected: 29 })
        expect(ids(await take(subscribe(last.position, filter), 1))).toEqual([next.id])
      })

      test('a slow consumer misses nothing while others append', async () => {
        const appended: string[] = []
        const appending = (async () => {
          for (let n = 0; n < 40; n++) {
            const batch = someEvents(50)
            await appendNext(store, `s-${n % 4}`, batch)
            appended.push(...ids(batch))
          }
        })()
        const seen: string[] = []
        for await (const item of subscribe(START)) {
          if (item.kind !== 'event') continue
          seen.push(item.event.id)
          if (seen.length % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 2))
          if (seen.length === 2_000) break
        }
        await appending
        expect(seen).toEqual(appended)
      }, 60_000)

      test('ends silently when it is aborted, also while it waits', async () => {
        await store.append('s-1', someEvents(1), { expected: 'no-stream' })
        const aborting = new AbortController()
        const ended = (async () => {
          const kinds: string[] = []
          for await (const item of store.subscribe({ after: START, signal: aborting.signal })) {
            kinds.push(item.kind)
            if (item.kind === 'caught-up') setTimeout(() => aborting.abort(), 5)
          }
          return kinds
        })()
        expect((await ended).at(-1)).toBe('caught-up')
        expect(await collect(store.subscribe({ after: START, signal: AbortSignal.abort() }))).toEqual([])
      })

      test('over a restart in the middle loses and repeats nothing', async () => {
        const all = someEvents(60)
        await store.append('s-1', all.slice(0, 40), { expected: 'no-stream' })
        const before = await take(subscribe(START), 25)
        store = await harness.restart()
        await store.append('s-1', all.slice(40), { expected: 39 })
        const after = await take(subscribe(before.at(-1)?.position ?? START), 35)
        expect([...ids(before), ...ids(after)]).toEqual(ids(all))
      })
    })

    describe('erase', () => {
      const secret = (): NewEvent => anEvent({ wrappedKey: 'to be forgotten' }, 'SubjectKeyCreated')

      test('leaves nothing of the stream, and everything else where it was', async () => {
        await store.append('s-1', someEvents(1), { expected: 'no-stream' })
        await store.append('subject-1.0', [secret()], { expected: 'no-stream' })
        await store.append('subject-2.0', [secret()], { expected: 'no-stream' })
        await store.append('s-1', someEvents(1), { expected: 0 })
        const before = await collect(store.readAll())
        const kept = await collect(store.read('subject-2.0'))

        await store.erase('subject-1.0')
        expect(await collect(store.read('subject-1.0'))).toEqual([])
        expect(await collect(store.read('subject-1.0', { direction: 'backwards', limit: 1 }))).toEqual([])
        expect(await collect(store.read('subject-2.0'))).toEqual(kept)
        expect(kept.map(({ data }) => data)).toEqual([{ wrappedKey: 'to be forgotten' }])
        expect(await collect(store.readAll())).toEqual(before)

        const { position } = await store.append('s-1', someEvents(1), { expected: 1 })
        expect(comparePositions(position, before.at(-1)?.position ?? START)).toBeGreaterThan(0)
        expect(ids(await collect(store.readAll())).slice(0, 2)).toEqual(ids(before))
      })

      test('such streams are read by name only, by nobody who reads the log', async () => {
        await store.append('subject-1.0', [secret()], { expected: 'no-stream' })
        await store.append('s-1', someEvents(2), { expected: 'no-stream' })
        await store.append('subject-1.0', [secret()], { expected: 0 })
        for (const filter of [undefined, { streamPrefixes: ['s'] }, { types: ['SomethingHappened'] }]) {
          const all = await collect(store.readAll({ ...(filter && { filter }) }))
          expect(all.map(({ stream }) => stream)).toEqual(['s-1', 's-1'])
          expect(ids(await take(subscribe(START, filter), 2))).toEqual(ids(all))
        }
        expect(await collect(store.readAll({ filter: { streamPrefixes: ['subject-'] } }))).toEqual([])
        expect(await collect(store.readAll({ filter: { types: ['SubjectKeyCreated'] } }))).toEqual([])
        expect(await collect(store.readAll({ limit: 1 }))).toHaveLength(1)
      })

      test('a subscription goes on over it, and comes to the end of the log', async () => {
        await store.append('subject-1.0', [secret()], { expected: 'no-stream' })
        const items = subscribe(START)[Symbol.asyncIterator]()
        const nextOf = async (kind: SubscriptionItem['kind']): Promise<SubscriptionItem> => {
          for (;;) {
            const { value } = (await items.next()) as { value: SubscriptionItem }
            if (value.kind === kind) return value
          }
        }
        const caughtUp = await nextOf('caught-up')
        expect(caughtUp).toMatchObject({ position: await store.head() })
        await store.erase('subject-1.0')
        const next = anEvent()
        await store.append('s-1', [next], { expected: 'no-stream' })
        expect(await nextOf('event')).toMatchObject({ event: { id: next.id, stream: 's-1' } })
      })

      test('is final: the stream takes nothing any more, not even what it held, also after a restart', async () => {
        const event = secret()
        await store.append('subject-1.0', [event], { expected: 'no-stream' })
        await store.erase('subject-1.0')
        const refused = async (): Promise<void> => {
          for (const expected of ['no-stream', 0] as const) {
            await expectRefusal(store.append('subject-1.0', [secret()], { expected }), 'stream_erased')
          }
          await expectRefusal(
            store.append('subject-1.0', [event], { expected: 'no-stream' }),
            'stream_erased',
          )
        }
        await refused()
        store = await harness.restart()
        expect(await collect(store.read('subject-1.0'))).toEqual([])
        await refused()
        await store.append('subject-1.1', [secret()], { expected: 'no-stream' })
        expect(await collect(store.read('subject-1.1'))).toHaveLength(1)
      })

      test('twice, or of a stream that is missing, does nothing', async () => {
        await store.erase('subject-1.0')
        await store.append('subject-1.0', [secret()], { expected: 'no-stream' })
        await store.erase('subject-1.0')
        await store.erase('subject-1.0')
        expect(await collect(store.read('subject-1.0'))).toEqual([])
      })

      test.each(['s-1', 'account-1', 'subject', 'xsubject-1', 'subject-1 OR 1', '', '$subject-1'])(
        'of %j is refused',
        async (stream) => {
          await store.append('s-1', someEvents(1), { expected: 'no-stream' })
          await expectRefusal(store.erase(stream), 'event_invalid')
          expect(await collect(store.readAll())).toHaveLength(1)
        },
      )

      test('while others append and read harms neither', async () => {
        const streams = Array.from({ length: 10 }, (_, n) => `subject-${n}.0`)
        for (const stream of streams) await store.append(stream, [secret()], { expected: 'no-stream' })
        const appending = Array.from({ length: 40 }, (_, n) =>
          store.append(`s-${n}`, someEvents(2), { expected: 'no-stream' }),
        )
        const reading = collect(store.readAll())
        await Promise.all([...streams.map((stream) => store.erase(stream)), ...appending, reading])
        expect(await collect(store.readAll())).toHaveLength(80)
        for (const stream of streams) expect(await collect(store.read(stream))).toEqual([])
      })

      test('is refused by a closed store', async () => {
        await store.close()
        await expectRefusal(store.erase('subject-1.0'), 'store_unavailable')
        store = await harness.restart()
      })
    })

    describe('life', () => {
      test('an empty log begins at START', async () => {
        expect(await store.head()).toBe(START)
        expect(await collect(store.readAll())).toEqual([])
        expect(await store.health()).toMatchObject({ ok: true })
      })

      test('close answers what was accepted, then refuses; twice is safe', async () => {
        const appending = Array.from({ length: 20 }, (_, n) =>
          store.append(`s-${n}`, [anEvent()], { expected: 'no-stream' }),
        )
        const results = Promise.all(appending)
        await store.close()
        await store.close()
        expect(await results).toHaveLength(20)
        await expectRefusal(appendNext(store, 's-1', [anEvent()]), 'store_unavailable')
        await expectRefusal((async () => collect(store.readAll()))(), 'store_unavailable')
        expect((await store.health()).ok).toBe(false)
        store = await harness.restart()
        expect(await collect(store.readAll())).toHaveLength(20)
      })
    })
  })
}
