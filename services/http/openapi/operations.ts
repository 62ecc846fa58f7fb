import { z } from 'zod'
import { verdictRowSchema } from '../../../contracts/verdict-row.ts'
import { verificationAnswerSchema } from '../../../contracts/verification.ts'
import { accountOperations } from './account-operations.ts'
import { discoveryOperations } from './discovery-operations.ts'
import { knowledgeOperations } from './knowledge-operations.ts'
import { mcpOperations } from './mcp-operations.ts'
import type { Operations } from './operation.ts'
import { paymentOperations } from './payment-operations.ts'
import { transparencyLogOperations } from './transparency-log-operations.ts'
import { webhookOperations } from './webhook-operations.ts'

const filters = {
  exchange: 'Exchange codes, separated by commas',
  coin: 'Coin symbols, separated by commas',
  timeframe: 'Timeframes, separated by commas',
  call: 'BUY, SELL or HOLD, or several of them separated by commas',
  from: 'Bars that close at this instant or later: a date or an instant, ISO 8601',
  to: 'Bars that close before this instant',
  after: 'Rows behind this one: the `cursor` of a row',
}

const readiness = z.object({
  status: z.enum(['ready', 'degraded', 'unready']),
  components: z
    .array(
      z.object({
        name: z.string(),
        state: z.enum(['ok', 'degraded', 'failed']),
        detail: z.string(),
        isRequired: z.boolean().describe('Whether the service can answer at all without it'),
        more: z.record(z.string(), z.json()).optional(),
      }),
    )
    .optional()
    .describe('For the operator'),
})

const serviceDescription = z.object({
  service: z.string(),
  version: z.string(),
  market: z.string(),
  notice: z.string(),
  endpoints: z.record(z.string(), z.string()).describe('What is served, by method and path'),
})

const recorded = {
  tag: 'verdicts',
  key: 'none',
} as const

const REPLAY_ERRORS = [
  'invalid_request',
  'unauthorized',
  'unknown_exchange',
  'unknown_coin',
  'store_unavailable',
  'too_many_streams',
] as const

const asked = { tag: 'service', key: 'none', errors: [] } as const

const json = (description: string, schema: z.ZodType | undefined) => ({
  description,
  content: { 'application/json': schema },
})

const verdictOperations: Operations = {
  'GET /api/board': {
    ...recorded,
    id: 'board',
    summary: 'What every series says now: its regime, its newest verdict, and the newest that was decided',
    description:
      'On a live market a verdict is shown once its window has closed; fresh ones are answered by the tools. On others it is shown at once.',
    errors: ['invalid_request', 'store_unavailable'],
    parameters: {
      exchange: 'One exchange',
      coin: 'One coin',
      skip: 'Rows to leave out at the beginning: the `next` of the answer before',
      limit: 'Rows at most',
    },
    tryPath: '/api/board?timeframe=1h',
  },
  'GET /api/series/:exchange/:coin/:timeframe': {
    ...recorded,
    id: 'seriesHistory',
    summary: 'The verdicts of one series with what became of them, newest first',
    description:
      'On a live market a verdict is shown once its window has closed. Of all series together, in the order of the log: `GET /api/verdicts`.',
    errors: ['invalid_request', 'store_unavailable'],
    parameters: { after: 'Older rows: the `next` of the answer before', limit: 'Rows at most' },
    tryPath: '/api/series/SIM/BTC/1h',
  },
  'GET /api/verdicts': {
    ...recorded,
    id: 'replayVerdicts',
    summary: 'Recorded verdicts, in the order of the log',
    description:
      'A verdict is shown once its window has closed; fresh ones are answered by the tools. The body is streamed, texts in zstd or gzip where `Accept-Encoding` names one. An answer may end before the last row where the connection does: go on with the `cursor` of the last row as `after`. One that found no row among very many events is empty and has the header `X-Next-Cursor`: send that as `after` to search on.',
    errors: REPLAY_ERRORS,
    parameters: {
      ...filters,
      as_of: 'The log as it was: a position, a date or an instant',
      limit: 'Rows at most',
      format: 'Form of the answer; without it the Accept header decides',
    },
    answers: {
      200: {
        description:
          'Rows: one JSON object a line, CSV with a header line, a Parquet file, or a stream of Arrow',
        content: {
          'application/x-ndjson': verdictRowSchema,
          'text/csv': undefined,
          'application/vnd.apache.parquet': undefined,
          'application/vnd.apache.arrow.stream': undefined,
        },
      },
    },
    tryPath: '/api/verdicts?coin=BTC&timeframe=1h&limit=10',
  },
  'GET /api/verdicts/stream': {
    ...recorded,
    id: 'followVerdicts',
    summary: 'Recorded verdicts as server-sent events, as their windows close',
    description:
      'Events of the type `verdict`, whose data is a row and whose id is its cursor. Resumable; a comment every 15 seconds says that the stream is there.',
    errors: REPLAY_ERRORS,
    parameters: filters,
    headers: { 'Last-Event-ID': 'The id of the last event that was seen; newer than `after`' },
    answers: {
      200: { description: 'Server-sent events', content: { 'text/event-stream': verdictRowSchema } },
    },
  },
  'GET /api/track-record': {
    ...recorded,
    id: 'trackRecord',
    summary: 'What became of all recorded verdicts, per model version, beside baselines',
    errors: ['invalid_request', 'store_unavailable'],
    parameters: {
      exchange: 'With `group_by=series` only',
      coin: 'With `group_by=series` only',
      model_version: 'Verdicts of this model only',
      group_by: 'Pooled per timeframe, or one row per series',
      after: 'Rows behind these: the `next` of the answer before',
      limit: 'Rows at most',
    },
    tryPath: '/api/track-record?group_by=series&coin=BTC',
  },
  'GET /api/track-record/months': {
    ...recorded,
    id: 'trackRecordMonths',
    summary: 'What the calls of each month came to, beside baselines',
    errors: ['invalid_request', 'store_unavailable'],
    parameters: { timeframe: 'One timeframe' },
    tryPath: '/api/track-record/months?timeframe=1h',
  },
  'GET /api/track-record/coins': {
    ...recorded,
    id: 'trackRecordCoins',
    summary: 'What the calls of each coin came to, over all its series, beside baselines',
    errors: ['invalid_request', 'store_unavailable'],
    parameters: {
      timeframe: 'One timeframe; all of them without it',
      after: 'Rows behind these: the `next` of the answer before',
      limit: 'Rows at most',
    },
    tryPath: '/api/track-record/coins?timeframe=1h',
  },
  'GET /api/regime-shifts': {
    ...recorded,
    id: 'regimeShifts',
    summary: 'When the regime of a series shifted, newest first',
    description:
      'A series has shifted where the regime of a verdict differs from that of the verdict before it. A shift is shown once the window of its verdict has closed.',
    errors: ['invalid_request', 'store_unavailable'],
    parameters: {
      exchange: 'Exchange code',
      coin: 'Coin symbol',
      timeframe: 'Length of one bar',
      after: 'Older rows, behind these: the `next` of the answer before',
      limit: 'Rows at most',
    },
    tryPath: '/api/regime-shifts?exchange=SIM&coin=BTC&timeframe=1h',
  },
  'GET /verify/:verdict_id': {
    ...recorded,
    id: 'verifyVerdict',
    summary: 'A verdict as it was recorded, with its hash and its outcome',
    description: 'JSON, or a page for those who prefer one. Open to whoever holds the id.',
    answers: {
      200: {
        description: 'What the log says of it',
        content: { 'application/json': verificationAnswerSchema, 'text/html': undefined },
      },
    },
    errors: ['invalid_request', 'verdict_unknown', 'store_unavailable'],
    parameters: {
      verdict_id: 'The `verdict_id` of an answer or a row',
      format: 'Form of the answer; without it the Accept header decides',
    },
  },
}

const serviceOperations: Operations = {
  'GET /': {
    ...asked,
    id: 'describeService',
    summary: 'What this is and what is served; the board, to browsers',
    answers: { 200: json('A description in short', serviceDescription) },
    tryPath: '/',
  },
  'GET /openapi.json': {
    ...asked,
    id: 'openApi',
    summary: 'This description, as OpenAPI 3.1',
    answers: { 200: json('The document', z.record(z.string(), z.json())) },
    tryPath: '/openapi.json',
  },
  'GET /openapi': {
    ...asked,
    id: 'openApiPage',
    summary: 'This description, as a page',
    answers: { 200: { description: 'A page without scripts', content: { 'text/html': undefined } } },
  },
  'GET /livez': {
    ...asked,
    id: 'alive',
    summary: 'Whether the process is there',
    description: 'Not counted against any limit.',
    isUnlimited: true,
    answers: { 200: json('It is', z.object({ status: z.literal('alive') })) },
    tryPath: '/livez',
  },
  'GET /readyz': {
    ...asked,
    id: 'ready',
    summary: 'Whether it is well',
    description:
      'Not counted against any limit. The operator is told the state of everything it stands on as well.',
    isUnlimited: true,
    answers: {
      200: json('It answers; `degraded` says that something it can do without is away', readiness),
      503: json('It cannot answer', readiness),
    },
    tryPath: '/readyz',
  },
  'GET /metrics': {
    ...asked,
    id: 'metrics',
    summary: 'Metrics for Prometheus',
    description: 'With the token of the operator, or at the port that is set for health.',
    isOperators: true,
    errors: ['unauthorized'],
    answers: { 200: { description: 'Metrics', content: { 'text/plain': undefined } } },
  },
}

const marketOperations: Operations = {
  'GET /api/bars': {
    tag: 'markets',
    key: 'none',
    id: 'bars',
    summary: 'The bars that verdicts stand on, with the gaps in them and the funding settled meanwhile',
    description:
      'As the market has them now. With the bars from `anchor_bar` on, `signal verify --recompute` computes a verdict again.',
    errors: [
      'invalid_request',
      'market_data_missing',
      'market_data_damaged',
      'venue_unavailable',
      'rate_limited',
    ],
    parameters: { exchange: 'One exchange', coin: 'One coin', timeframe: 'One timeframe' },
    tryPath: '/api/bars?exchange=SIM&coin=BTC&timeframe=1h&from=1767225600000&to=1767312000000',
  },
  'GET /api/markets': {
    tag: 'markets',
    key: 'none',
    id: 'markets',
    summary: 'Exchanges, coins and timeframes, and how fresh each is',
    errors: ['invalid_request', 'venue_unavailable', 'market_data_missing', 'market_data_damaged'],
    parameters: { exchange: 'One exchange', coin: 'One coin', limit: 'Markets at most' },
    tryPath: '/api/markets?coin=BTC',
    example: {
      market: 'simulated',
      market_time: '2026-11-21T04:30:29.087Z',
      exchanges: ['SIM'],
      rows: [
        {
          exchange: 'SIM',
          coin: 'BTC',
          timeframes: [
            {
              timeframe: '1h',
              is_monitored: true,
              bar_close: '2026-11-21T04:00:00.000Z',
              data_age_ms: 1_829_087,
            },
          ],
        },
      ],
      next: null,
    },
  },
}

/** Every operation that is described. The order is that of the page. */
export const OPERATIONS: Operations = {
  ...mcpOperations,
  ...paymentOperations,
  ...marketOperations,
  ...verdictOperations,
  ...transparencyLogOperations,
  ...accountOperations,
  ...webhookOperations,
  ...knowledgeOperations,
  ...discoveryOperations,
  ...serviceOperations,
}
