import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { TrackRecordRow } from '../../../contracts/answers/track-record.ts'
import type { Outcome } from '../../../contracts/domain/outcome.ts'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import type { MarketKind } from '../../../contracts/events/event-catalogue.ts'
import { fold, given, outcomeLabelled } from '../../../projections/given-events.fixture.ts'
import { type TrackRecord, trackRecord } from '../../../projections/index.ts'
import type { TrackRecordQuery } from '../../analyst/index.ts'
import { trackRecordRow } from '../../analyst/track-record-report.ts'
import { createServer } from '../../composition/server.ts'
import { NO_READ_MODELS } from '../../http/testing/no-read-models.ts'
import { serverOptions } from '../../http/testing/server-options.fixture.ts'
import { reliabilityTable } from '../charts.ts'
import { trackRecordPage } from './track-record.ts'

let asked: TrackRecordQuery[]
let app: Awaited<ReturnType<typeof createServer>>

beforeEach(async () => {
  asked = []
  app = await createServer(
    serverOptions({
      ...NO_READ_MODELS,
      trackRecord(query) {
        asked.push(query)
        return { asOf: '0', rows: [], next: undefined }
      },
    }),
  )
})
afterEach(async () => {
  vi.restoreAllMocks()
  await app.close()
})

const visit = (query = '') => app.inject(`/track-record${query}`)

test('a page is made once for all who look at the same within five seconds', async () => {
  const first = await visit()
  expect(first.headers).toMatchObject({
    'cache-control': 'public, max-age=60',
    'content-type': 'text/html; charset=utf-8',
  })
  const questions = asked.length
  expect(questions).toBeGreaterThan(0)
  // A form sends what was not filled in as empty.
  const second = await visit('?timeframe=&coin=')
  expect([second.body, second.headers['content-security-policy']]).toEqual([
    first.body,
    first.headers['content-security-policy'],
  ])
  expect(asked.length).toBe(questions)

  await visit('?timeframe=1h')
  expect(asked.length).toBeGreaterThan(questions)

  const later = performance.now() + 6_000
  vi.spyOn(performance, 'now').mockReturnValue(later)
  const before = asked.length
  await visit()
  expect(asked.length).toBe(before + questions)
})

test('a page that refuses a field is not kept', async () => {
  for (let n = 0; n < 2; n++) {
    const before = asked.length
    const refused = await visit('?timeframe=2y')
    expect([refused.statusCode, refused.headers['cache-control']]).toEqual([400, 'no-store'])
    expect(asked.length).toBeGreaterThan(before)
  }
})

const WINDOW_MS = 8 * HOUR_MS

const won = (barClose: number, change: Partial<Outcome> = {}) =>
  outcomeLabelled({
    barClose,
    validUntil: barClose + WINDOW_MS,
    call: 'BUY',
    probability: 0.535,
    race: (barClose / HOUR_MS) % 2 === 0 ? 'up' : 'down',
    ...change,
  })

const rowOf = (outcomes: readonly ReturnType<typeof won>[]) =>
  trackRecordRow(fold(trackRecord, given(...outcomes))['timeframe/first-1/1h'] as TrackRecord)

function pageOf(
  outcomes: readonly ReturnType<typeof won>[],
  market: MarketKind = 'live',
  more: TrackRecordRow[] = [],
): string {
  const record = { notice: '', as_of: '9', rows: [rowOf(outcomes), ...more], speech: [], next: null }
  const { body } = trackRecordPage({
    market,
    record,
    months: [],
    coins: { rows: [], next: null },
    query: {},
  })
  return String(body)
}

const everyHour = Array.from({ length: 102 }, (_, hour) => won(hour * HOUR_MS))

test('an interval stands on races that do not overlap, and says on how many', () => {
  const [bin] = reliabilityTable([rowOf(everyHour)])
  expect(bin).toMatchObject({ races: 102, non_overlapping: 13, wins: 51, happened: 0.5 })
  // Wilson's interval of 6.5 in 13; that of 51 in 102 would be 0.405 to 0.595.
  expect(bin?.low).toBeCloseTo(0.2612, 3)
  expect(bin?.high).toBeCloseTo(0.7388, 3)
  // A picture of so few would only mislead; the table has them.
  expect(pageOf(everyHour)).not.toContain('<circle')
  expect(pageOf(everyHour)).toContain('>51 of 102<')
})

test('fewer than 100 calls that do not overlap are counted, and no share of them is in percent', () => {
  const page = pageOf(everyHour)
  expect(page).toContain('<dd>13 of 13 so far</dd>')
  expect(page).toContain('<td class="num">13 of 13</td>')
  // Percentages of the page are what was said, the axes, and the name of the interval.
  const withoutRanges = page
    .replace(/<caption>Prices at the end[\s\S]*?<\/table>/, '')
    .replace(/<dt>Prices within their range<\/dt><dd>.*?<\/dd>/, '')
  const withoutAxes = withoutRanges.replace(/<svg[^]*?<\/svg>/, '')
  const shares = [...withoutAxes.matchAll(/([\d.]+) %/g)].map(([, share]) => share ?? '')
  expect(new Set(shares.filter((share) => share.includes('.')))).toEqual(new Set(['53.5']))
  const many = pageOf(Array.from({ length: 100 }, (_, n) => won(n * WINDOW_MS)))
  expect(many).toContain('<dd>100.0 %</dd><dd>100 of 100; 95 %: 96.3 %–100.0 %</dd>')
  expect(many).not.toContain('so far')
  // A coin's 1h and 4h overlap: what both won has no interval.
  const hundred = Array.from({ length: 100 }, (_, n) => won(n * WINDOW_MS))
  const pooled = pageOf(hundred, 'live', [{ ...rowOf(hundred), timeframe: '4h' }])
  expect(pooled).toContain('<dd>100.0 %</dd><dd>200 of 200; their intervals are below, by timeframe</dd>')
})

test('the record of a simulated market says that it is about made-up prices, and no other one does', () => {
  const said = 'say nothing about a real market'
  expect(pageOf(everyHour, 'simulated')).toContain(said)
  for (const market of ['live', 'recorded'] as const) expect(pageOf(everyHour, market)).not.toContain(said)
})

test('how far prices went comes before how the calls did', () => {
  const page = pageOf(everyHour)
  const places = ['Prices within their range', '<h2 id="ranges">', '<h2 id="reliability">'].map((part) =>
    page.indexOf(part),
  )
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(page).not.toContain('id="closes"')
})
