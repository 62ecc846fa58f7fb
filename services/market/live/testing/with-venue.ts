import { Venue } from '../venue.ts'
import type { LiveExchange } from '../venues.ts'
import { type LiveBench, startLiveBench } from './live-bench.ts'

/** Aborts never. */
export const never = new AbortController().signal

/** One venue that is made up, with BTC and ETH, and what it reported. */
export async function withVenue<Result>(
  exchange: LiveExchange,
  then: (venue: Venue, bench: LiveBench, reports: readonly string[]) => Promise<Result>,
): Promise<Result> {
  await using bench = await startLiveBench({ exchanges: [exchange], coins: ['BTC', 'ETH'] })
  const { now, sleep, fetch } = bench.clock
  const { url: baseUrl } = bench.venue(exchange)
  const reports: string[] = []
  const report = (message: string): void => void reports.push(message)
  const venue = new Venue({ exchange, baseUrl, now, sleep, fetch, random: () => 0.5, report })
  return await bench.clock.runUntil(then(venue, bench, reports))
}

/** Adds rows to the list of contracts of a venue: copies of one that it has, with other fields. */
export async function listAlso(
  { clock, venue }: Pick<LiveBench, 'clock' | 'venue'>,
  exchange: LiveExchange,
  path: string,
  rows: readonly Readonly<Record<string, unknown>>[],
): Promise<void> {
  const answer = JSON.parse(await (await clock.fetch(`${venue(exchange).url}${path}`)).text())
  const places = [answer, answer.symbols, answer.data, answer.result, answer.result?.list]
  const list: Record<string, unknown>[] = [...places, answer.data?.perpProductsV2].find(Array.isArray) ?? []
  const [model] = list
  for (const row of rows) list.push({ ...model, ...row })
  const [pathOnly] = path.split('?')
  venue(exchange).fail(
    'markets',
    { kind: 'instead', text: JSON.stringify(answer) },
    Number.POSITIVE_INFINITY,
    (request) => request.path === pathOnly,
  )
}
