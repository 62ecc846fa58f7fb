import { Readable } from 'node:stream'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { exchangeSchema } from '../../../contracts/exchanges.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { isPosition } from '../../../contracts/position.ts'
import { coinSchema } from '../../../contracts/series.ts'
import { timeframeSchema } from '../../../contracts/timeframes.ts'
import { callSchema } from '../../../contracts/verdict.ts'
import type { VerdictRow } from '../../../contracts/verdict-row.ts'
import type { ReplayCursor, ReplayOptions } from '../../analyst/index.ts'
import { AT_START, parseCursor } from '../../analyst/index.ts'
import { isOperator } from '../operator.ts'

export interface VerdictRoutesOptions {
  readonly replay: (options: ReplayOptions) => AsyncIterable<VerdictRow>
  /** Market time, Unix milliseconds. */
  readonly marketNow: () => number
  readonly operatorToken: string | undefined
}

const listOf = <Item extends z.ZodType<unknown, string>>(item: Item) =>
  z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(item).max(LIMITS.filterValues))
    .optional()

const instantText = z.union([z.iso.datetime({ offset: true }), z.iso.date()], {
  error: 'must be an ISO 8601 instant or date',
})
const instant = instantText.transform((text) => Date.parse(text)).optional()

const cursor = z
  .string()
  .max(128)
  .transform((text, context): ReplayCursor => {
    const parsed = parseCursor(text)
    if (parsed !== undefined) return parsed
    context.addIssue('must be the `cursor` of a row')
    return z.NEVER
  })
  .optional()

const logPoint = z
  .string()
  .max(64)
  .transform((text, context): string | Date => {
    if (isPosition(text)) return text
    if (instantText.safeParse(text).success) return new Date(text)
    context.addIssue('must be a position or an ISO 8601 instant')
    return z.NEVER
  })
  .optional()

const querySchema = z.strictObject({
  exchange: listOf(exchangeSchema),
  coin: listOf(coinSchema),
  timeframe: listOf(timeframeSchema),
  call: listOf(callSchema),
  from: instant,
  to: instant,
  after: cursor,
  as_of: logPoint,
  limit: z.coerce.number().int().min(1).max(LIMITS.replayEvents).default(LIMITS.replayEvents),
})

/**
 * `GET /api/verdicts`: recorded verdicts as NDJSON, one row a line, in the order of the log. Verdicts whose
 * window is still open are shown to the operator only.
 *
 * @example curl 'http://127.0.0.1:8402/api/verdicts?coin=BTC&timeframe=1h&limit=10'
 */
export const verdictRoutes: FastifyPluginAsyncZod<VerdictRoutesOptions> = async (app, options) => {
  app.get('/api/verdicts', { schema: { querystring: querySchema } }, async (request, reply) => {
    const { query } = request
    if (query.from !== undefined && query.to !== undefined && query.from >= query.to) {
      throw new ServiceError('invalid_request', { message: 'from: must be before to' })
    }
    const now = isOperator(request, options.operatorToken) ? Number.POSITIVE_INFINITY : options.marketNow()
    const left = new AbortController()
    // Fires after a complete answer as well, when aborting does nothing.
    reply.raw.once('close', () => left.abort())
    const rows = options.replay({
      filter: {
        ...(query.exchange && { exchanges: query.exchange }),
        ...(query.coin && { coins: query.coin }),
        ...(query.timeframe && { timeframes: query.timeframe }),
        ...(query.call && { calls: query.call }),
        ...(query.from !== undefined && { from: query.from }),
        ...(query.to !== undefined && { to: query.to }),
      },
      after: query.after ?? AT_START,
      ...(query.as_of !== undefined && { upTo: query.as_of }),
      limit: query.limit,
      now,
      signal: left.signal,
    })
    return reply
      .header('content-type', 'application/x-ndjson; charset=utf-8')
      .header('cache-control', 'no-store')
      .header('x-accel-buffering', 'no')
      .send(Readable.from(await begin(lines(rows)), { objectMode: false }))
  })
}

/** Bytes gathered before they are handed to the socket: a write per row would cost more than the row. */
const CHUNK_CHARACTERS = 65_536

async function* lines(rows: AsyncIterable<VerdictRow>): AsyncGenerator<string, void, void> {
  let chunk = ''
  for await (const row of rows) {
    chunk += `${JSON.stringify(row)}\n`
    if (chunk.length < CHUNK_CHARACTERS) continue
    yield chunk
    chunk = ''
  }
  if (chunk !== '') yield chunk
}

/** Waits for the first item, so that a replay that cannot begin is refused with a status instead of cut off. */
async function begin(items: AsyncGenerator<string, void, void>): Promise<AsyncIterable<string>> {
  const first = await items.next()
  return (async function* () {
    if (first.done === true) return
    yield first.value
    yield* items
  })()
}
