import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { RecordMonth } from '../../../contracts/record-month.ts'
import type { TrackRecordAnswer } from '../../../contracts/track-record-row.ts'
import { csvOf } from '../pages/csv.ts'
import { address } from '../pages/parts.ts'
import { sendPage } from '../pages/send-page.ts'
import { FIGURES, type Figure, reliabilityTable, winRateTable } from '../pages/track-record-figures.ts'
import { trackRecordPage } from '../pages/track-record-page.ts'
import type { PagesOptions } from './series-pages.ts'

const text = z.string().max(256).optional()
const querySchema = z.strictObject({ timeframe: text, coin: text, after: text })
type Query = z.infer<typeof querySchema>

const SERIES_ROWS = 50

/** `GET /track-record`: how good the calls were, for people; `GET /track-record/:figure.csv`: each figure of it. */
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

  app.get('/track-record', { schema: { querystring: querySchema } }, async (request, reply) => {
    const { query } = request
    const [pooled, { rows: months }, series] = await Promise.all([
      pooledOf(request, query),
      monthsOf(request, query),
      seriesOf(request, query, SERIES_ROWS),
    ])
    reply.header('cache-control', 'public, max-age=60')
    return sendPage(reply, frame(), trackRecordPage({ pooled, months, series, query }))
  })

  for (const figure of FIGURES) {
    app.get(
      `/track-record/${figure}.csv`,
      { schema: { querystring: querySchema } },
      async (request, reply) => {
        reply.headers({
          'content-type': 'text/csv; charset=utf-8',
          'content-disposition': `attachment; filename="${figure}.csv"`,
          'cache-control': 'public, max-age=60',
        })
        return csvOf(await rowsOf(figure, request, request.query))
      },
    )
  }

  async function rowsOf(figure: Figure, request: FastifyRequest, query: Query) {
    if (figure === 'months') return (await monthsOf(request, query)).rows
    if (figure === 'series') return winRateTable((await seriesOf(request, query, 200)).rows)
    const { rows } = await pooledOf(request, query)
    return figure === 'reliability' ? reliabilityTable(rows) : winRateTable(rows)
  }
}
