import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { RecordCoinsAnswer } from '../../../contracts/record-coin.ts'
import type { RecordMonth } from '../../../contracts/record-month.ts'
import type { TrackRecordAnswer } from '../../../contracts/track-record-row.ts'
import { csvLines } from '../pages/csv.ts'
import type { Refusal } from '../pages/own-client.ts'
import { address } from '../pages/parts.ts'
import { sendPage } from '../pages/send-page.ts'
import {
  coinTable,
  equityTable,
  FIGURES,
  type Figure,
  type Flat,
  reliabilityTable,
  undecidedTable,
  winRateTable,
} from '../pages/track-record-figures.ts'
import { trackRecordPage } from '../pages/track-record-page.ts'
import type { PagesOptions } from './series-pages.ts'

const text = z.string().max(256).optional()
const querySchema = z.strictObject({ timeframe: text, coin: text, after: text, coins: text })
type Query = z.infer<typeof querySchema>

/** A form sends what was not filled in as empty. */
const emptyLeftOut = (query: Query): Query =>
  Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined && value !== ''))

const PAGE_ROWS = 50
/** Rows of one question for a file. */
const FILE_ROWS = 200

/** `GET /track-record`: how good the calls were, for people; `GET /track-record/:figure.csv`: each figure of it, whole. */
export const trackRecordPages: FastifyPluginAsyncZod<PagesOptions> = async (app, { client, frame }) => {
  const pooledOf = (request: FastifyRequest, { timeframe }: Query) =>
    client.must<TrackRecordAnswer>(request, { path: address('/api/track-record', { timeframe }) })
  const monthsOf = (request: FastifyRequest, { timeframe }: Query) =>
    client.must<{ rows: RecordMonth[] }>(request, {
      path: address('/api/track-record/months', { timeframe }),
    })
  const seriesOf = (request: FastifyRequest, { timeframe, coin, after }: Query, limit: number) =>
    client.must<TrackRecordAnswer>(request, {
      path: address('/api/track-record', { group_by: 'series', timeframe, coin, after, limit }),
    })
  const coinsOf = (request: FastifyRequest, { timeframe, coins: after }: Query, limit: number) =>
    client.must<RecordCoinsAnswer>(request, {
      path: address('/api/track-record/coins', { timeframe, after, limit }),
    })

  app.get('/track-record', { schema: { querystring: querySchema } }, async (request, reply) => {
    const { query } = request
    const refused = await refusalOf(request, query)
    // What is refused is shown at its field, above what is counted without it.
    const asked = refused === undefined ? emptyLeftOut(query) : {}
    const [pooled, { rows: months }, coins, series] = await Promise.all([
      pooledOf(request, asked),
      monthsOf(request, asked),
      coinsOf(request, asked, PAGE_ROWS),
      seriesOf(request, asked, PAGE_ROWS),
    ])
    if (refused === undefined) reply.header('cache-control', 'public, max-age=60')
    else reply.code(refused.status)
    return sendPage(reply, frame(), trackRecordPage({ pooled, months, coins, series, query, refused }))
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
        const pages = pagesOf(figure, request, emptyLeftOut(request.query))
        // What is refused is refused before a file begins.
        const first = await pages.next()
        reply.headers({
          'content-type': 'text/csv; charset=utf-8',
          'content-disposition': `attachment; filename="${figure}.csv"`,
          'cache-control': 'public, max-age=60',
        })
        return Readable.from(csvLines(first.done === true ? [] : first.value, pages))
      },
    )
  }

  /** The rows of a figure, a page of them at a time: a file has all of them, however many there are. */
  async function* pagesOf(
    figure: Figure,
    request: FastifyRequest,
    query: Query,
  ): AsyncGenerator<readonly Flat[], void, void> {
    if (figure === 'series') {
      for (let after = query.after; ; ) {
        const { rows, next } = await seriesOf(request, { ...query, after }, FILE_ROWS)
        yield winRateTable(rows)
        if (next === null) return
        after = next
      }
    }
    if (figure === 'coins') {
      for (let coins = query.coins; ; ) {
        const { rows, next } = await coinsOf(request, { ...query, coins }, FILE_ROWS)
        yield coinTable(rows)
        if (next === null) return
        coins = next
      }
    }
    if (figure === 'months' || figure === 'equity') {
      const { rows } = await monthsOf(request, query)
      yield figure === 'months' ? rows : equityTable(rows)
      return
    }
    const { rows } = await pooledOf(request, query)
    if (figure === 'reliability') yield reliabilityTable(rows)
    else yield figure === 'undecided' ? undecidedTable(rows) : winRateTable(rows)
  }
}
