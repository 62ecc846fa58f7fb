import type { z } from 'zod'
import { barsAnswerSchema } from '../../../contracts/answers/bars.ts'
import { trackRecordAnswerSchema } from '../../../contracts/answers/track-record.ts'
import type { Candle } from '../../../contracts/domain/candle.ts'
import { timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { ERRORS, reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { trackRecordReport } from '../../analyst/index.ts'
import { createRace } from '../../engine/index.ts'
import type { AuditTools, LogSource } from '../../proof/index.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { AnswerTooLong, boundedFetch } from '../../runtime/http/bounded-fetch.ts'
import { paced } from '../../runtime/http/paced.ts'
import { pagesOf } from '../../runtime/http/pages.ts'
import { barPages } from '../kit/bar-pages.ts'

/** Pages of a track record at most: twenty thousand rows, one for each model and series. */
const MOST_PAGES = 100
/** Longer than any answer that an audit asks for. */
const MOST_BYTES = 64 * 1024 * 1024
/** A service may have to ask a venue for bars first. */
const ANSWER_MS = 120_000
const NO_ANSWER = 0
/** A service that is busy, or restarts behind its proxy. */
const PASSING: ReadonlySet<number> = new Set([NO_ANSWER, 429, 502, 503, 504])
type Query = Readonly<Record<string, string>>
const publishedSchema = trackRecordAnswerSchema.pick({ rows: true, next: true })

/** Functions of other domains for an audit: the bars and the track record are those of a source. */
export const auditTools = (source: LogSource, barsOf = barsFrom(source)): AuditTools => ({
  barsOf,
  raceOf({ timeframe, barClose, validUntil, barrier }, bars) {
    const barMs = timeframeMs(timeframe)
    const race = createRace({ barClose, barMs, windowBars: (validUntil - barClose) / barMs, barrier })
    for (const bar of bars) {
      const result = race.take(bar)
      if (result !== undefined) return { ...result }
    }
    return { ...race.end() }
  },
  untilSigned: async () => undefined,
  async published(grouping) {
    const rows: JsonObject[] = []
    const readPage = async (after: string | undefined) => {
      const query = { group_by: grouping, ...(after !== undefined && { after }) }
      return (await answerAt(source, 'api/track-record', query, publishedSchema)) ?? { next: null }
    }
    for await (const page of pagesOf('the track record', readPage, MOST_PAGES)) {
      if (!('rows' in page)) return undefined
      rows.push(...page.rows)
    }
    return rows
  },
  reported(rows, grouping) {
    const sorted = Array.from(rows, ([key, row]) => ({ key, row })).toSorted((a, b) =>
      a.key < b.key ? -1 : 1,
    )
    const range = ({ prefix, after = '', limit }: { prefix: string; after?: string; limit: number }) =>
      sorted.filter(({ key }) => key.startsWith(prefix) && key > after).slice(0, limit)
    const query = { groupBy: grouping, limit: sorted.length + 1 } as const
    return [...trackRecordReport({ range, position: () => '' }, query).rows]
  },
})

const barsFrom =
  (source: LogSource): AuditTools['barsOf'] =>
  async (series, from, to) => {
    const bars: Candle[] = []
    const ask = (query: Query) => answerAt(source, 'api/bars', query, barsAnswerSchema)
    for await (const page of barPages(series, { from, to }, ask)) {
      if (page === undefined) return undefined
      bars.push(...page.bars)
    }
    return bars
  }

/** Undefined for what is not there. @throws ServiceError `proof_invalid` for another answer than the one of this service */
async function answerAt<Schema extends z.ZodType>(
  source: LogSource,
  path: string,
  query: Query,
  schema: Schema,
) {
  const bytes = await source.get(`${path}?${new URLSearchParams(query).toString()}`)
  if (bytes === undefined) return undefined
  try {
    return schema.parse(JSON.parse(bytes.toString()))
  } catch (error) {
    const why = `/${path} answers otherwise than this service: ${reasonOf(error).slice(0, 200)}`
    throw new ServiceError('proof_invalid', { message: `This cannot be relied on: ${why}.` })
  }
}

interface SourceOptions extends Pick<Clock, 'now' | 'sleep'> {
  readonly signal: AbortSignal
  /** Called before each wait for a busy service, with the reason. */
  readonly onWait?: (waitMs: number, why: string) => void
}

/** A log as the service at an address serves it, asked no faster than the service allows. */
export function serviceSource(address: string, { onWait, ...pacing }: SourceOptions): LogSource {
  const base = address.replace(/\/+$/, '')
  const { signal } = pacing
  /** An address at which nobody ever answered is not waited for. */
  let isThere = false
  const unreachable = (why: string, cause?: unknown): ServiceError =>
    new ServiceError('server_unreachable', {
      message: `${base} cannot be audited: ${why}`,
      nextStep: isThere ? 'Run the same command again later.' : ERRORS.server_unreachable.nextStep,
      cause,
    })

  async function ask(path: string) {
    try {
      const bounds = { signal, timeMs: ANSWER_MS, mostBytes: MOST_BYTES }
      const { status, headers, body } = await boundedFetch(`${base}/${path}`, {}, bounds)
      isThere = true
      const retryAfter = headers.get('retry-after')
      const asks = retryAfter === null ? '' : `, Retry-After: ${retryAfter.slice(0, 40)}`
      // A service without these bars will not have them a moment later.
      const isMissing = status === 503 && body.includes('"code":"market_data_missing"')
      const why = `it answers ${status} to /${path}${asks}`
      return { status: isMissing ? 404 : status, retryAfter, body, why }
    } catch (error) {
      if (signal.aborted || !isThere || error instanceof AnswerTooLong)
        throw unreachable(reasonOf(error), error)
      const why = `it does not answer to /${path}: ${reasonOf(error)}`
      return { status: NO_ANSWER, retryAfter: undefined, body: undefined, why }
    }
  }

  return {
    async get(path) {
      const answer = await paced(() => ask(path), {
        ...pacing,
        isPassing: ({ status }) => PASSING.has(status),
        onWait: (waitMs, { why }) => onWait?.(waitMs, why),
      })
      if (answer.status === 404) return undefined
      if (answer.status !== 200) throw unreachable(answer.why)
      return answer.body
    },
  }
}
