import { expect, test } from 'vitest'
import type { MarketKind } from '../../../contracts/event-catalogue.ts'
import type { Outcome } from '../../../contracts/outcome.ts'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import type { TrackRecordRow } from '../../../contracts/track-record-row.ts'
import { fold, given, outcomeLabelled } from '../../../projections/given-events.fixture.ts'
import { type TrackRecord, trackRecord } from '../../../projections/index.ts'
import { trackRecordRow } from '../../analyst/track-record-report.ts'
import { reliabilityTable } from './track-record-figures.ts'
import { trackRecordPage } from './track-record-page.ts'

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
  const pooled = { notice: '', as_of: '9', rows: [rowOf(outcomes), ...more], speech: [], next: null }
  const { body } = trackRecordPage({
    market,
    pooled,
    months: [],
    coins: { rows: [], next: null },
    series: pooled,
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
  expect(many).toContain('<dd>100.0 %</dd><dd>100 of 100; 95 %: 96.3 % to 100.0 %</dd>')
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
