import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { BarsAnswer } from '../../../contracts/bars-answer.ts'
import type { Candle } from '../../../contracts/candle.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { SeriesHistory } from '../../../contracts/series-history.ts'
import { timeframeMs } from '../../../contracts/timeframes.ts'
import type { TrackRecordAnswer } from '../../../contracts/track-record-row.ts'
import { seriesParams } from '../../http/routes/series.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import type { OwnClient, Refusal } from '../api-client.ts'
import { address, seriesPath } from '../components.ts'
import type { PageFrame } from '../layout.ts'
import { sendPage } from '../send-page.ts'
import { requireOwnForm } from '../session.ts'
import { sparkline } from './series-chart.ts'
import { seriesPage, ZOOMS } from './series-page.ts'

export interface PagesOptions {
  readonly client: OwnClient
  readonly frame: () => PageFrame
}

const PATH = '/series/:exchange/:coin/:timeframe'

const querystring = z.object({
  after: z.string().max(64).optional(),
  bars: z.enum(ZOOMS).default('300'),
})
const schema = { params: seriesParams, querystring }

/** `GET /series/:exchange/:coin/:timeframe`: one series for people. `POST` asks for its open call, which is counted. */
export const seriesPages: FastifyPluginAsyncZod<PagesOptions> = async (app, { client, frame }) => {
  /** The candles of the picture; none where they cannot be had just now, and closes are drawn. */
  async function barsOf(
    request: FastifyRequest,
    { series, rows: [newest], market_time: now }: SeriesHistory,
    count: number,
  ): Promise<readonly Candle[]> {
    const to = Date.parse(newest?.bar_close ?? now)
    const from = Math.max(0, to - count * timeframeMs(series.timeframe))
    const path = address('/api/bars', { ...series, from, to })
    const answer = await client.ask<BarsAnswer>(request, { path })
    return answer.isOk ? answer.body.bars : NO_BARS
  }

  /** Whether calls are made at each timeframe; nothing where that is not known here. */
  async function speechOf(request: FastifyRequest) {
    const path = address('/api/track-record', { limit: 1 })
    const answer = await client.ask<TrackRecordAnswer>(request, { path })
    return answer.isOk ? answer.body.speech : []
  }

  app.get(PATH, { schema }, async (request, reply) => {
    const { after, bars: zoom } = request.query
    const history = await client.must<SeriesHistory>(request, {
      path: address(`/api${seriesPath(request.params)}`, { after, limit: zoom }),
    })
    // One after the other: a request that waits for bars of a venue holds no page slot.
    const speech = await speechOf(request)
    const bars = await barsOf(request, history, Number(zoom))
    reply.header('cache-control', 'no-cache')
    return sendPage(reply, frame(), seriesPage({ history, bars, zoom, after, speech }))
  })

  app.post(PATH, { schema }, async (request, reply) => {
    requireOwnForm(request, frame().publicUrl)
    const { bars: zoom } = request.query
    const answer = await client.must<RpcAnswer>(request, {
      method: 'POST',
      path: '/mcp',
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'get_trade_call', arguments: { ...request.params } },
      },
    })
    const path = address(`/api${seriesPath(request.params)}`, { limit: zoom })
    const history = await client.must<SeriesHistory>(request, { path })
    const bars = await barsOf(request, history, Number(zoom))
    return sendPage(
      reply,
      frame(),
      seriesPage({ history, bars, zoom, after: undefined, asked: askedOf(answer) }),
    )
  })
}

const NO_BARS: readonly Candle[] = []

/** Verdicts that the picture in a row of the board is drawn from, and how long one is kept. */
const [SPARK_ROWS, SPARK_SECONDS] = [40, 30] as const

/**
 * `GET …/spark.svg`: the newest closes that the history shows to everybody, as a picture for a row of a table. Pictures
 * are kept for a while, so that visitors of the board cost the same however many they are.
 */
export const sparkRoutes: FastifyPluginAsyncZod<PagesOptions> = async (app, { client }) => {
  const kept = new RecentMap<string, string>(LIMITS.boardParts, {
    ttlMs: SPARK_SECONDS * 1_000,
    now: () => performance.now(),
  })

  async function draw(request: FastifyRequest, path: string): Promise<string> {
    const known = kept.get(path)
    if (known !== undefined) return known
    const { rows } = await client.must<SeriesHistory>(request, {
      path: address(`/api${path}`, { limit: SPARK_ROWS }),
    })
    const picture = String(sparkline(rows.toReversed().map(({ price }) => price)))
    if (rows.length > 0) kept.set(path, picture)
    return picture
  }

  app.get(`${PATH}/spark.svg`, { schema: { params: seriesParams } }, async (request, reply) => {
    const picture = await draw(request, seriesPath(request.params))
    return reply
      .headers({
        'content-type': 'image/svg+xml',
        'cache-control': `public, max-age=${SPARK_SECONDS}`,
        // The colours of a theme are in a style; nothing is loaded, and nothing runs.
        'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      })
      .serializer(String)
      .send(picture)
  })
}

interface RpcAnswer {
  readonly result?: { readonly isError?: boolean; readonly structuredContent?: JsonObject }
  readonly error?: { readonly message: string; readonly data?: { readonly next_step?: string } }
}

/** A call, or what was refused: by the tool, or by the protocol where the key does not hold. */
function askedOf({ result, error }: RpcAnswer) {
  if (error !== undefined) {
    return {
      refusal: { status: 401, code: '', message: error.message, next_step: error.data?.next_step ?? '' },
    }
  }
  const content = result?.structuredContent ?? {}
  return result?.isError === true ? { refusal: { ...(content as unknown as Refusal) } } : { body: content }
}
