import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Series } from '../../../contracts/domain/series.ts'
import { MINUTE_MS } from '../../../contracts/domain/timeframes.ts'
import type { VenueHealth } from '../feed.ts'
import type { Fault } from './testing/fake-venue.ts'
import { NOON, startLiveBench } from './testing/live-bench.ts'

const SECOND_MS = 1_000
const MINUTES: Series = { exchange: 'OKX', coin: 'BTC', timeframe: '1m' }
/** A venue that is well, so that time is told of. */
const OTHER: Series = { exchange: 'BINANCE', coin: 'BTC', timeframe: '1m' }

const bench = (venuesBehindMs = 0) =>
  startLiveBench({ exchanges: ['BINANCE', 'OKX'], historyBars: 10, venuesBehindMs })

const ofOkx = (seen: readonly VenueHealth[]): VenueHealth | undefined =>
  seen.find(({ exchange }) => exchange === 'OKX')

describe('a venue that answers, but never what it was asked for', () => {
  test.each<[string, Fault, RegExp]>([
    ['refuses', { kind: 'instead', text: '{}' }, /no bar for \d+ s.*last failure: okx \{\}/],
    [
      'sends rows that are no bars',
      {
        kind: 'instead',
        text: `{"code":"0","data":[["${NOON + MINUTE_MS}","0","0","0","0","1","1","1","1"]]}`,
      },
      /no bar for \d+ s.*last failure: .*price 0 is not a positive number/,
    ],
  ])('is not well as soon as its newest bar is overdue, and says why: it %s', async (_name, fault, why) => {
    await using live = await bench()
    let seen: readonly VenueHealth[] = []
    await live.collect({ series: [OTHER, MINUTES] }, ({ at, isLate }) => {
      if (at === NOON + MINUTE_MS && isLate === undefined) live.venue('OKX').fail('candles', fault)
      seen = live.feed.venues()
      return at >= NOON + 3 * MINUTE_MS
    })
    expect(ofOkx(seen)).toMatchObject({ state: 'degraded', detail: expect.stringMatching(why) as string })
    expect(seen.find(({ exchange }) => exchange === 'BINANCE')).toMatchObject({ state: 'ok' })
  })

  test('says nothing of a failure that a newer bar has made good', async () => {
    await using live = await bench()
    let seen: readonly VenueHealth[] = []
    await live.collect({ series: [MINUTES] }, ({ at, isLate }) => {
      if (at === NOON + MINUTE_MS && isLate === undefined)
        live.venue('OKX').fail('candles', { kind: 'instead', text: '{}' }, 1)
      seen = live.feed.venues()
      return at >= NOON + 4 * MINUTE_MS
    })
    expect(ofOkx(seen)).toMatchObject({ state: 'ok', detail: expect.not.stringContaining('{}') as string })
  })
})

test('a venue that has not answered yet is not called well', async () => {
  await using live = await bench()
  expect(ofOkx(live.feed.venues())).toMatchObject({ state: 'ok', detail: 'not asked yet' })
  const answering = Promise.withResolvers<void>()
  live.venue('OKX').fail('markets', { kind: 'held', until: answering.promise }, 1)
  const listing = live.feed.listings()
  while (live.venue('OKX').requests.size === 0) await setImmediate()
  const seen = ofOkx(live.feed.venues())
  answering.resolve()
  await live.clock.runUntil(listing)
  expect(seen).toMatchObject({ state: 'degraded', detail: 'its markets are being fetched' })
  expect(ofOkx(live.feed.venues())).toMatchObject({ state: 'ok' })
})

test('a clock that is behind is told of, because bars then come so much later', async () => {
  await using live = await bench(90 * SECOND_MS)
  await live.collect({ series: [MINUTES] }, ({ at }) => at >= NOON + MINUTE_MS)
  expect(ofOkx(live.feed.venues())?.detail).toMatch(/its clock is 9\d s behind/)
})
