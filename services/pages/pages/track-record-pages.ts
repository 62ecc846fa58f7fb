import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { assert } from '../../../contracts/assert.ts'
import type { RecordCoin, RecordCoinsAnswer } from '../../../contracts/record-coin.ts'
import type { RecordMonth } from '../../../contracts/record-month.ts'
import type { TrackRecordAnswer, TrackRecordRow } from '../../../contracts/track-record-row.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import type { Refusal } from '../api-client.ts'
import { address } from '../components.ts'
import { page } from '../layout.ts'
import { sendText } from '../send-page.ts'
import { csvLines } from './csv.ts'
import type { PagesOptions } from './series.ts'
import {
  coinTable,
  equityTable,
  FIGURES,
  type Figure,
  type Flat,
  reliabilityTable,
  undecidedTable,
  winRateTable,
} from './track-record-figures.ts'
import { trackRecordPage } from './track-record-page.ts'

const text = z.string().max(256).optional()
const querySchema = z.object({ timeframe: text, coin: text, after: text, coins: text })
type Query = z.infer<typeof querySchema>

/** A form sends what was not filled in as empty. */
const emptyLeftOut = (query: Query): Query =>
  Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined && value !== ''))

const PAGE_ROWS = 50
/** A page takes 40 ms to make: it is kept, so that visitors cost the same however many they are. */
const [KEPT_PAGES, KEPT_SECONDS] = [20, 5] as const
const PUBLIC = 'public, max-age=60'
/** Rows of one question for a file. */
const FILE_ROWS = 200

/** Questions to the track record on behalf of one visitor. */
function recordOf(client: PagesOptions['client'], request: FastifyRequest) {
  const ask = <Body>(rest: string, parameters: Parameters<typeof address>[1]) =>
    client.must<Body>(request, { path: address(`/api/track-record${rest}`, parameters) })
  return {
    pooled: ({ timeframe }: Query) => ask<TrackRecordAnswer>('', { timeframe }),
    months: ({ timeframe }: Query) => ask<{ rows: RecordMonth[] }>('/months', { timeframe }),
    series: ({ timeframe, coin, after }: Query, limit: number) =>
      ask<TrackRecordAnswer>('', { group_by: 'series', timeframe, coin, after, limit }),
    coins: ({ timeframe, coins: after }: Query, limit: number) =>
      ask<RecordCoinsAnswer>('/coins', { timeframe, after, limit }),
  }
}

/** `GET /track-record`: how good the calls were, for people; `GET /track-record/:figure.csv`: each figure of it, whole. */
export const trackRecordPages: FastifyPluginAsyncZod<PagesOptions> = async (app, { client, frame }) => {
  const kept = new RecentMap<string, string>(KEPT_PAGES, {
    ttlMs: KEPT_SECONDS * 1_000,
    now: () => performance.now(),
  })

  app.get('/track-record', { schema: { querystring: querySchema } }, async (request, reply) => {
    const { query } = request
    const key = JSON.stringify(emptyLeftOut(query))
    const known = kept.get(key)
    if (known !== undefined) return sendText(reply.header('cache-control', PUBLIC), known)
    const refused = await refusalOf(request, query)
    // What is refused is shown at its field, above what is counted without it.
    const asked = refused === undefined ? emptyLeftOut(query) : {}
    const record = recordOf(client, request)
    const [pooled, { rows: months }, coins, series] = await Promise.all([
      record.pooled(asked),
      record.months(asked),
      record.coins(asked, PAGE_ROWS),
      record.series(asked, PAGE_ROWS),
    ])
    const shown = frame()
    const look = { market: shown.market, pooled, months, coins, series, query, refused }
    const html = page(shown, trackRecordPage(look))
    if (refused !== undefined) return sendText(reply.code(refused.status), html)
    kept.set(key, html)
    return sendText(reply.header('cache-control', PUBLIC), html)
  })

  async function refusalOf(request: FastifyRequest, query: Query): Promise<Refusal | undefined> {
    const { timeframe, coin } = emptyLeftOut(query)
    if (timeframe === undefined && coin === undefined) return undefined
    const path = address('/api/track-record', { group_by: 'series', timeframe, coin, limit: 1 })
    const answer = await client.ask<TrackRecordAnswer>(request, { path })
    if (answer.isOk || answer.refusal.status !== 400) return undefined
    return answer.refusal
  }

  for (const figure of FIGURES) {
    app.get(
      `/track-record/${figure}.csv`,
      { schema: { querystring: querySchema } },
      async (request, reply) => {
        const pages = pagesOf(figure, recordOf(client, request), emptyLeftOut(request.query))
        // What is refused is refused before a file begins.
        const first = await pages.next()
        reply.headers({
          'content-type': 'text/csv; charset=utf-8',
          'content-disposition': `attachment; filename="${figure}.csv"`,
          'cache-control': PUBLIC,
        })
        return Readable.from(csvLines(first.done === true ? [] : first.value, pages))
      },
    )
  }
}

/** The rows of a figure, a page of them at a time: a file has all of them, however many there are. */
async function* pagesOf(
  figure: Figure,
  record: ReturnType<typeof recordOf>,
  query: Query,
): AsyncGenerator<readonly Flat[], void, void> {
  if (figure === 'series' || figure === 'coins') {
    const name = figure === 'series' ? 'after' : 'coins'
    for (let cursor = query[name]; ; ) {
      const asked = { ...query, [name]: cursor }
      const part = await record[figure](asked, FILE_ROWS)
      yield figure === 'series'
        ? winRateTable(part.rows as TrackRecordRow[])
        : coinTable(part.rows as RecordCoin[])
      if (part.next === null) return
      assert(part.next !== cursor, 'the cursor of a file of figures advances', part.next)
      cursor = part.next
    }
  }
  if (figure === 'months' || figure === 'equity') {
    const { rows } = await record.months(query)
    yield figure === 'months' ? rows : equityTable(rows)
    return
  }
  const { rows } = await record.pooled(query)
  if (figure === 'reliability') yield reliabilityTable(rows)
  else yield figure === 'undecided' ? undecidedTable(rows) : winRateTable(rows)
}
