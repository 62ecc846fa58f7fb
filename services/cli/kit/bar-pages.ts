import { type BarsAnswer, barsAnswerSchema } from '../../../contracts/bars-answer.ts'
import type { Candle } from '../../../contracts/candle.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { Series } from '../../../contracts/series.ts'
import { type Timeframe, timeframeMs } from '../../../contracts/timeframes.ts'
import type { Service } from './service.ts'

/** Bars of one series: nine years of minutes. */
const MOST_BARS = 5_000_000
/** Bars that every page but the last covers at least. */
const FEWEST_BARS_A_PAGE = 100

interface BarPage {
  readonly bars: readonly Candle[] | undefined
  /** The open of the first bar of the next page, Unix milliseconds; null at the end. */
  readonly next: string | null
}

/**
 * The pages of bars that open in [from, to). A faulty or hostile server can neither reorder them nor make them endless.
 *
 * @param ask for bars from an instant on
 * @throws ServiceError `proof_invalid`; what asking throws
 */
export async function* barPages<Page extends BarPage>(
  timeframe: Timeframe,
  { from, to }: { readonly from: number; readonly to: number },
  ask: (from: number) => Promise<Page>,
): AsyncGenerator<Page, void, void> {
  const barMs = timeframeMs(timeframe)
  if ((to - from) / barMs > MOST_BARS) throw faulty(`more than ${MOST_BARS} of them are asked for`)
  for (let next = from; ; ) {
    const begin = next
    const page = await ask(begin)
    let earliest = begin
    for (const { openTime } of page.bars ?? []) {
      if (openTime < earliest || openTime >= to) throw faulty(`one opens at ${openTime}, out of its order`)
      earliest = openTime + barMs
    }
    yield page
    if (page.next === null) return
    next = Number(page.next)
    const isOnward = next >= Math.max(earliest, begin + FEWEST_BARS_A_PAGE * barMs) && next < to
    if (!isOnward) throw faulty(`the page from ${begin} is followed by one from ${next}`)
  }
}

const faulty = (why: string): ServiceError =>
  new ServiceError('proof_invalid', { message: `These bars cannot be relied on: ${why}.` })

/** Bars of a series as a service gives them, a page at a time. Throws what `barPages` does. */
export const barsOf = (
  service: Service,
  { exchange, coin, timeframe }: Series,
  period: { readonly from: number; readonly to: number },
): AsyncIterable<BarsAnswer> =>
  barPages(timeframe, period, (begin) => {
    const query = { exchange, coin, timeframe, from: String(begin), to: String(period.to) }
    return service.get('/api/bars', query, barsAnswerSchema)
  })
