import { Readable } from 'node:stream'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { SpeechAnswerRow } from '../../../contracts/track-record-row.ts'
import { unreachableText } from '../../../contracts/unreachable-venue.ts'
import type { TrackRecordPage, TrackRecordQuery } from '../../analyst/index.ts'
import { acceptsHtmlFirst } from '../../http/accept-header.ts'
import { addressSite } from '../../http/client-address.ts'
import { operationsOf } from '../../http/openapi/operation.ts'
import { type BoardRoutesOptions, boardFilters } from '../../http/routes/board.ts'
import type { HealthRoutesOptions } from '../../http/routes/health.ts'
import type { CallerOptions } from '../../http/routes/verdicts.ts'
import { signalOfLeaving } from '../../http/waits.ts'
import { createStreamPlaces } from '../../runtime/admission/places.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { type PageFrame, page } from '../layout.ts'
import { sendText } from '../send-page.ts'
import { type BoardLook, boardPage, changingParts, type Headline } from './board-page.ts'

export interface BoardPagesOptions extends BoardRoutesOptions, CallerOptions {
  readonly trackRecord: (query: TrackRecordQuery) => TrackRecordPage
  /** How each model does of late. */
  readonly speech: () => readonly SpeechAnswerRow[]
  readonly frame: () => PageFrame
  readonly hasSignIn: boolean
  readonly unreachable?: HealthRoutesOptions['unreachable']
  /** The JSON answer at `/` for programs. */
  readonly describe: () => object
}

const emptyIsNone = (value: unknown) => (value === '' ? undefined : value)
/** A form sends what was not chosen as empty. */
const querySchema = z.object({
  exchange: z.preprocess(emptyIsNone, boardFilters.exchange),
  coin: z.preprocess(emptyIsNone, boardFilters.coin),
  timeframe: z.preprocess(emptyIsNone, boardFilters.timeframe),
  call: z.preprocess(emptyIsNone, boardFilters.call),
  skip: z.coerce.number().int().min(0).max(LIMITS.boardRows).default(0),
})
type BoardPageQuery = z.infer<typeof querySchema>

const operation = operationsOf({ tag: 'service' })(
  'describeService',
  'What this is and what is served; the board, to browsers',
  {
    answers: {
      200: {
        description: 'A description in short',
        content: {
          'application/json': z.object({
            service: z.string(),
            version: z.string(),
            market: z.string(),
            notice: z.string(),
            endpoints: z.record(z.string(), z.string()).describe('What is served, by method and path'),
          }),
        },
      },
    },
  },
)

/** How often it is looked whether something is new for who watches. */
const LOOK_MS = 1_000
const HEADLINE_MS = 30_000

/**
 * `GET /`: the board for people, a description for programs. `GET /board/live`: its parts as they change, as
 * server-sent events. What is rendered is rendered once for all who look at the same.
 */
export const boardPages: FastifyPluginAsyncZod<BoardPagesOptions> = async (app, options) => {
  const { board, frame, trackRecord } = options
  const closing = new AbortController()
  app.addHook('preClose', async () => closing.abort())
  const rendered = ofVersion<string>()
  const parts = ofVersion<Readonly<Record<string, string>>>()
  const headline = keptFor(HEADLINE_MS, () => headlineOf(trackRecord))
  const withdrawn = keptFor(HEADLINE_MS, () => [
    ...new Set(options.speech().flatMap(({ state, timeframe }) => (state === 'withdrawn' ? timeframe : []))),
  ])
  const watchers = createStreamPlaces('live boards', {
    total: LIMITS.boardWatchers,
    each: { address: LIMITS.boardWatchersPerAddress },
  })

  /** The notice about venues belongs to the version, so that a page with another notice is another page. */
  let notice = { text: '', changes: 0 }
  const lookAt = (query: BoardPageQuery): { version: number; look: BoardLook } => {
    const { skip, ...filters } = query
    const { version, answer } = board.read({ ...filters, skip: 0, limit: LIMITS.boardRows })
    const { hasSignIn } = options
    const unreachable = (options.unreachable?.() ?? []).map(unreachableText)
    if (unreachable.join() !== notice.text) notice = { text: unreachable.join(), changes: notice.changes + 1 }
    const about = { headline: headline(), withdrawn: withdrawn(), publicUrl: frame().publicUrl, hasSignIn }
    return { version: version + notice.changes, look: { answer, filters, skip, unreachable, ...about } }
  }

  app.get('/', { schema: { operation } }, async (request, reply) => {
    reply.header('vary', 'accept')
    if (!acceptsHtmlFirst(request.headers.accept)) return options.describe()
    const query = read(request.query)
    const key = JSON.stringify(query)
    const { version, look } = lookAt(query)
    const text = rendered(version, key, () => page(frame(), boardPage(look)))
    return sendText(reply.header('cache-control', 'no-cache'), text)
  })

  app.get('/board/live', { schema: { querystring: querySchema } }, async (request, reply) => {
    const { give } = watchers.take({ address: addressSite(options.addressOf(request)) })
    reply.raw.once('close', give)
    const signal = AbortSignal.any([signalOfLeaving(reply), closing.signal])
    const key = JSON.stringify(request.query)
    const current = () => {
      const { version, look } = lookAt(request.query)
      return { version, parts: parts(version, key, () => changingParts(look)) }
    }
    reply.headers({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    return reply.send(Readable.from(changesOf(current, signal), { objectMode: false }))
  })
}

/** The changes from now on, until the signal, with a heartbeat between them. */
async function* changesOf(
  current: () => { readonly version: number; readonly parts: Readonly<Record<string, string>> },
  signal: AbortSignal,
): AsyncGenerator<string, void, void> {
  let before = current()
  yield 'retry: 3000\n: listening\n\n'
  for (let looks = 1; ; looks++) {
    await sleep(LOOK_MS, signal)
    if (signal.aborted) return
    const now = current()
    if (now.version !== before.version) {
      const { parts } = before
      const changed = Object.entries(now.parts).filter(([id, markup]) => parts[id] !== markup)
      before = now
      yield `event: parts\ndata: ${JSON.stringify(Object.fromEntries(changed))}\n\n`
    } else if (looks % (LIMITS.heartbeatMs / LOOK_MS) === 0) yield ': nothing new\n\n'
  }
}

function read(query: unknown): BoardPageQuery {
  const result = querySchema.safeParse(query)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new ServiceError('invalid_request', { message: `${issue?.path.join('.')}: ${issue?.message}` })
}

/** All timeframes together: calls whose windows do not overlap. */
function headlineOf(trackRecord: BoardPagesOptions['trackRecord']): Headline | undefined {
  const { rows } = trackRecord({ groupBy: 'timeframe', limit: LIMITS.trackRecordRows })
  let [wins, reached, trades, net, forecasts, within] = [0, 0, 0, 0, 0, 0]
  for (const { non_overlapping: one, ranges } of rows) {
    forecasts += ranges.forecasts
    within += (ranges.coverage_80?.value ?? 0) * ranges.forecasts
    wins += one.wins
    reached += one.reached
    trades += one.trades
    net += (one.net_mean_bps ?? 0) * one.trades
  }
  return { wins, reached, forecasts, within, netBps: trades === 0 ? null : net / trades }
}

/** Keeps what was made of one version of the board, by key, until there is another version. */
function ofVersion<Value>(): (version: number, key: string, make: () => Value) => Value {
  let kept = { version: -1, made: new Map<string, Value>() }
  return (version, key, make) => {
    if (kept.version !== version) kept = { version, made: new Map() }
    const known = kept.made.get(key)
    if (known !== undefined) return known
    const value = make()
    if (kept.made.size < LIMITS.boardParts) kept.made.set(key, value)
    return value
  }
}

function keptFor<Value>(keptMs: number, make: () => Value): () => Value {
  let kept: { readonly until: number; readonly value: Value } | undefined
  return () => {
    const now = performance.now()
    if (kept === undefined || now >= kept.until) kept = { until: now + keptMs, value: make() }
    return kept.value
  }
}
