import type { BarsAnswer } from '../../../contracts/answers/bars.ts'
import type { Series } from '../../../contracts/domain/series.ts'
import { timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { faultyError } from '../../proof/index.ts'

/** Bars of one series: nine years of minutes. */
const MOST_BARS = 5_000_000
/** Bars that every page but the last covers at least. */
const FEWEST_BARS_A_PAGE = 100

/**
 * The pages of bars that open in [from, to). A faulty or hostile server can neither reorder them nor make them endless.
 *
 * @param ask sends a query to `/api/bars`; an answer that is undefined ends the pages
 * @throws ServiceError `proof_invalid`; what asking throws
 */
export async function* barPages<Page extends BarsAnswer | undefined>(
  { exchange, coin, timeframe }: Series,
  { from, to }: { readonly from: number; readonly to: number },
  ask: (query: Readonly<Record<string, string>>) => Promise<Page>,
): AsyncGenerator<Page, void, void> {
  const barMs = timeframeMs(timeframe)
  if ((to - from) / barMs > MOST_BARS) throw faultyError(`more than ${MOST_BARS} bars are asked for`)
  for (let begin = from; ; ) {
    const page = await ask({ exchange, coin, timeframe, from: String(begin), to: String(to) })
    let earliest = begin
    for (const { openTime } of page?.bars ?? []) {
      if (openTime < earliest || openTime >= to)
        throw faultyError(`a bar opens at ${openTime}, out of its order`)
      earliest = openTime + barMs
    }
    yield page
    if (page === undefined || page.next === null) return
    const next = Number(page.next)
    const isOnward = next >= Math.max(earliest, begin + FEWEST_BARS_A_PAGE * barMs) && next < to
    if (!isOnward) throw faultyError(`the page of bars from ${begin} is followed by one from ${next}`)
    begin = next
  }
}
