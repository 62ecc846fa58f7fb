import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DAY_MS } from '../../../contracts/domain/timeframes.ts'
import { isServiceError } from '../../../contracts/errors/errors.ts'
import type { RecordedEvent } from '../../../contracts/infra/event.ts'
import { START } from '../../../contracts/infra/position.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { appendNext } from '../../../testing/append-next.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../../log/event-store.ts'
import { positionBefore, resolveStart } from './find-position.ts'

const NOW = Date.UTC(2026, 10, 21, 12)

/** A log with one event at each of these times. */
async function aLog(times: readonly number[]): Promise<EventStore> {
  let now = 0
  const store = openMemoryStore({ now: () => now })
  for (const [n, at] of times.entries()) {
    now = at
    const id = `019abcde-7c00-7001-8000-${String(n).padStart(12, '0')}`
    const event = { id, type: 'Something', schema: 1, data: {}, meta: { correlationId: 'c', actor: 'a' } }
    await appendNext(store, 'store-test', [event])
  }
  return store
}

/** The same log with positions of two parts, as EventStoreDB has them. */
const inTwoParts = (store: EventStore): Pick<EventStore, 'readAll' | 'head'> => {
  const two = (position: string): string => (position === START ? position : `${position}/${position}`)
  return {
    head: async () => two(await store.head()),
    async *readAll({ after = START, upTo, ...rest } = {}) {
      const until = typeof upTo === 'string' ? upTo.split('/')[0] : upTo
      const options = { ...rest, after: after.split('/')[0] ?? START, ...(until && { upTo: until }) }
      for await (const event of store.readAll(options)) yield { ...event, position: two(event.position) }
    },
  }
}

test('behind the position of an instant is exactly what was appended then and later', async () => {
  const times = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(times, fc.integer({ min: 0, max: 42 }), async (appended, instant) => {
      const sorted = appended.toSorted((a, b) => a - b)
      const store = await aLog(sorted.map((minute) => NOW + minute * 60_000))
      for (const log of [store, inTwoParts(store)]) {
        const position = await positionBefore(log, NOW + instant * 60_000)
        if (position === undefined) throw new Error('a short log is read to its end')
        const behind: string[] = []
        for await (const { id } of log.readAll({ after: position })) behind.push(id)
        expect(behind.length).toBe(sorted.filter((minute) => minute >= instant).length)
      }
    }),
    { numRuns: 60 },
  )
})

describe('where to start', () => {
  const ages = [40, 20, 10, 1]
  const resolve = async (text: string) => {
    const store = await aLog(ages.map((days) => NOW - days * DAY_MS))
    return resolveStart(store, 'start', text, NOW).catch((error: unknown) =>
      isServiceError(error) ? error.message : String(error),
    )
  }

  test('is now, a position, or an instant', async () => {
    expect(await resolve('now')).toBe('4')
    expect(await resolve('2')).toBe('2')
    expect(await resolve('4')).toBe('4')
    expect(await resolve(new Date(NOW - 15 * DAY_MS).toISOString())).toBe('2')
    expect(await resolve('2026-11-19')).toBe('3')
    expect(await resolve('2026-11-19T02:00:00+02:00')).toBe('3')
  })

  test.each([
    ['start', /further back than 30 days/],
    ['5', /lies ahead of the log, which ends at 4/],
    ['3/3', /not a position of this log/],
    ['2026-09-01', /further back than 30 days/],
    ['2026-11-22T00:00:00Z', /in the future/],
    ['2026-11-20T00:00:00', /has no zone: add Z, as in 2026-11-20T00:00:00Z/],
    ['Nov 20 2026', /neither "now" nor a position nor an ISO 8601 instant/],
    ['2026-11-31', /neither "now" nor a position nor an ISO 8601 instant/],
    ['yesterday', /neither "now" nor a position nor an ISO 8601 instant/],
  ])('is not %s', async (text, message) => {
    expect(await resolve(text)).toMatch(message)
    expect(await resolve(text)).toMatch(/^start: /)
  })

  test('is no instant behind more events than are read, where positions are no numbers; its position is', async () => {
    const at = new Date(NOW - DAY_MS).toISOString()
    async function* readAll({ limit = 1 }: Parameters<EventStore['readAll']>[0] = {}) {
      for (let n = 1; n <= limit; n++) yield { position: `${n}/${n}`, at } as RecordedEvent
    }
    const log = { readAll, head: async () => '9999999/9999999' }
    const now = new Date(NOW).toISOString()
    await expect(resolveStart(log, 'since', now, NOW)).rejects.toThrow(
      new RegExp(`^since: .* more than ${LIMITS.webhookPastEvents} events into the log.*give a position`),
    )
    expect(await resolveStart(log, 'since', '7/7', NOW)).toBe('7/7')
  })

  test('in an empty log is its beginning', async () => {
    const store = await aLog([])
    expect(await resolveStart(store, 'start', 'now', NOW)).toBe(START)
    expect(await resolveStart(store, 'start', '2026-11-20', NOW)).toBe(START)
    expect(await resolveStart(store, 'start', START, NOW)).toBe(START)
  })
})
