import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { verdictRowSchema } from '../../../contracts/answers/verdict-row.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import {
  acceptedFormat,
  FORMATS,
  type FollowItem,
  type FollowOptions,
  type ReplayFilterQuery,
  type ReplaySource,
  replayFilterOf,
  replayFilterParameters,
  replayOptionsOf,
  replayParameters,
  replayQueryFault,
  requireKnownNames,
  VERDICT_FORMATS,
} from '../../analyst/index.ts'
import { createStreamPlaces, type StreamPlace, type StreamPlaces } from '../../runtime/admission/places.ts'
import { acceptedCoding, encoded } from '../accept.ts'
import { addressBlock, addressOf, siteOf } from '../client-address.ts'
import { bodyOf, operation } from '../openapi.ts'
import { isByOwnersDoor, isOperator } from '../operator.ts'
import { signalOfLeaving } from '../request-signal.ts'
import type { MarketsSource } from './markets.ts'

export interface VerdictRoutesOptions {
  readonly replay: ReplaySource
  readonly follow: (options: Omit<FollowOptions, 'sleep'>) => AsyncGenerator<FollowItem, void, void>
  readonly operatorToken: string | undefined
  /** The names of markets, so that a mistyped one is refused. */
  readonly markets: MarketsSource
}

/** Stands for who comes by the owner's socket, whose replays share the thread with those of addresses. */
const OWNER = 'owner'

/** Neither a cache nor a proxy holds back what is streamed. */
const STREAMED = { 'cache-control': 'no-store', 'x-accel-buffering': 'no' }

const formatSchema = z
  .enum(VERDICT_FORMATS)
  .optional()
  .describe('Form of the answer; without it the Accept header decides')
const replayRoute = {
  ...operation('verdicts', 'replayVerdicts', 'Verdicts with their outcomes, in the order of the outcomes'),
  description:
    'A verdict is shown once its outcome is recorded, right after its window has closed; fresh ones are answered by the tools. The body is streamed, texts in zstd or gzip if `Accept-Encoding` names one. An answer may end before the last row if the connection does: go on with the `cursor` of the last row as `after`. One that found no row among very many events is empty and has the header `X-Next-Cursor`: send that as `after` to search on.',
  querystring: z.strictObject({ ...replayParameters, format: formatSchema }),
  response: bodyOf(
    {
      'application/x-ndjson': verdictRowSchema,
      'text/csv': z.string(),
      'application/vnd.apache.parquet': z.string(),
    },
    'Rows: one JSON object a line, CSV with a header line, or a Parquet file',
  ),
}
const streamRoute = {
  ...operation('verdicts', 'followVerdicts', 'Verdicts with their outcomes as server-sent events'),
  description:
    'Events of the type `verdict`, whose data is a row and whose id is its cursor. To resume, send the last id as `after` or as the header `Last-Event-ID`. A comment every 15 seconds keeps the connection open.',
  querystring: z.strictObject(replayFilterParameters),
  response: bodyOf({ 'text/event-stream': verdictRowSchema }, 'Server-sent events'),
}

/**
 * `GET /api/verdicts`: verdicts with their outcomes as NDJSON, CSV or Parquet, in the order of the outcomes, all but
 * Parquet in zstd or gzip for those who take it. `GET /api/verdicts/stream`: the same as server-sent events, as they become
 * visible. Verdicts without an outcome are shown to the operator only, who has all in the order of the verdicts.
 */
export const verdictRoutes: FastifyPluginAsyncZod<VerdictRoutesOptions> = async (app, options) => {
  const closing = new AbortController()
  const replays = createStreamPlaces('replays', {
    total: LIMITS.verdictReplays,
    each: { address: LIMITS.verdictReplaysPerAddress },
    lost: { afterMs: LIMITS.givesWayMs, elapsed: () => performance.now() },
  })
  const streams = createStreamPlaces('live streams', {
    total: LIMITS.verdictStreams,
    each: { address: LIMITS.verdictStreamsPerAddress },
  })
  // Before the server waits for its answers to end: these would never.
  app.addHook('preClose', async () => closing.abort())

  /** A place until the answer is given; the owner's is nobody else's loss. */
  const takePlace = (places: StreamPlaces<'address'>, request: FastifyRequest, reply: FastifyReply) => {
    if (isByOwnersDoor(request)) return undefined
    const place = places.take({ address: siteOf(request) }, () => reply.raw.destroy())
    reply.raw.once('close', place.give)
    return place
  }

  app.get('/api/verdicts', { schema: replayRoute }, async (request, reply) => {
    const { query } = request
    await requireSound(query, options.markets)
    const name = query.format ?? acceptedFormat(request.headers.accept)
    const format = FORMATS[name]
    const coding = format.isPacked ? undefined : acceptedCoding(request)
    const withOpen = isOperator(request, options.operatorToken)
    reply.headers({ ...STREAMED, 'content-type': format.mediaType, vary: 'accept, accept-encoding' })
    if (name !== 'ndjson')
      reply.header('content-disposition', `attachment; filename="verdicts.${format.ending}"`)
    const encoding = coding === undefined ? {} : { 'content-encoding': coding }
    if (request.method === 'HEAD') return reply.headers(encoding).send()
    const place = takePlace(replays, request, reply)
    const replay = options.replay({
      options: { ...replayOptionsOf(query), withOpen },
      format: name,
      owner: isByOwnersDoor(request) ? OWNER : addressBlock(addressOf(request)),
      signal: signalOfLeaving(reply),
    })
    const chunks = await begin(replay.chunks)
    const { goOnAfter } = replay.notes()
    if (goOnAfter !== undefined) reply.header('x-next-cursor', goOnAfter)
    // Not before: a refusal is sent as it is.
    reply.headers(encoding)
    const source = Readable.from(asRead(chunks, place), { objectMode: false })
    return reply.send(encoded(source, coding))
  })

  app.get('/api/verdicts/stream', { schema: streamRoute }, async (request, reply) => {
    const query = withLastEventId(request.query, request.headers['last-event-id'])
    await requireSound(query, options.markets)
    const withOpen = isOperator(request, options.operatorToken)
    reply.headers({ ...STREAMED, 'content-type': 'text/event-stream; charset=utf-8' })
    if (request.method === 'HEAD') return reply.send()
    takePlace(streams, request, reply)
    const items = options.follow({
      filter: replayFilterOf(query),
      ...(query.after !== undefined && { after: query.after }),
      withOpen,
      signal: AbortSignal.any([signalOfLeaving(reply), closing.signal]),
    })
    return reply.send(Readable.from(await begin(serverSentEvents(items)), { objectMode: false }))
  })
}

async function requireSound(query: ReplayFilterQuery, markets: MarketsSource): Promise<void> {
  const fault = replayQueryFault(query)
  if (fault !== undefined) throw new ServiceError('invalid_request', { message: fault })
  await requireKnownNames(replayFilterOf(query), markets)
}

/** A client that reconnects says where it was; that is newer than the address it keeps using. */
function withLastEventId(query: ReplayFilterQuery, lastEventId: unknown): ReplayFilterQuery {
  if (lastEventId === undefined || lastEventId === '') return query
  const read = replayFilterParameters.after.safeParse(lastEventId)
  if (read.success) return { ...query, after: read.data }
  throw new ServiceError('invalid_request', { message: 'Last-Event-ID: must be the `cursor` of a row' })
}

/** How long a client waits before it connects again. */
const RETRY_MS = 2_000

/** The event stream format (HTML Standard §9.2): rows hold no line breaks, being JSON. */
async function* serverSentEvents(items: AsyncGenerator<FollowItem, void, void>) {
  let head = `retry: ${RETRY_MS}\n`
  for await (const item of items) {
    yield head +
      (item.kind === 'quiet'
        ? ': nothing new\n\n'
        : `id: ${item.row.cursor}\nevent: verdict\ndata: ${JSON.stringify(item.row)}\n\n`)
    head = ''
  }
}

/** Passes items on; while its reader has not asked for the next one, the place counts as waiting and may be lost. */
async function* asRead<Item>(items: AsyncIterable<Item>, place: StreamPlace | undefined) {
  for await (const item of items) {
    place?.waits(true)
    yield item
    place?.waits(false)
  }
}

/** Waits for the first item, so that an answer that cannot begin is refused with a status instead of cut off. */
async function begin<Item>(items: AsyncGenerator<Item, void, void>): Promise<AsyncIterable<Item>> {
  const first = await items.next()
  return (async function* () {
    if (first.done === true) return
    yield first.value
    yield* items
  })()
}
