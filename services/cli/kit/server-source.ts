import { once } from 'node:events'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { z } from 'zod'
import { barsAnswerSchema } from '../../../contracts/bars-answer.ts'
import { ERRORS, type ErrorCode, reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { seriesHistorySchema } from '../../../contracts/series-history.ts'
import { trackRecordAnswerSchema } from '../../../contracts/track-record-row.ts'
import type { VerdictRow } from '../../../contracts/verdict-row.ts'
import { verificationSchema } from '../../../contracts/verification.ts'
import type { ProcessFacts } from '../../http/readiness.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { type AnswerHead, isBusy, paced } from '../../runtime/http/paced.ts'
import { pagesOf } from '../../runtime/http/pages.ts'
import { barPages } from './bar-pages.ts'
import { readLines } from './read-lines.ts'
import { readServerSentEvents } from './read-server-sent-events.ts'
import type { VerdictSource } from './verdict-source.ts'

export interface ServerAddress {
  readonly url: string
  /** Through the owner's socket instead of the host of the address. */
  readonly socketPath?: string
  readonly token?: string | undefined
  /** Called before each wait for a busy service. */
  readonly onWait?: (waitMs: number, head: AnswerHead) => void
}

export interface ServerSourceOptions extends ServerAddress {
  readonly description: string
  readonly stderr: NodeJS.WritableStream
  /** Rows a page; by default as many as a service gives. */
  readonly pageRows?: number
  /** Between two tries to go on following, milliseconds. */
  readonly reconnectMs?: number
}

/** How long a server may take to begin its answer, and then to end one that is no stream. */
const ANSWER_MS = 30_000
const RECONNECT_MS = 2_000

/** The verdicts of a running service, over HTTP. Answers longer than a server gives at once are read in pages. */
export function createServerSource(given: ServerSourceOptions): VerdictSource {
  const { description, stderr, pageRows = LIMITS.replayEvents, reconnectMs = RECONNECT_MS } = given
  const onWait = (waitMs: number, { status }: AnswerHead): void =>
    void stderr.write(`${description} answers ${status}; asking again in ${waitMs / 1_000} s\n`)
  const options = { ...given, onWait }
  return {
    description,

    async *replay({ parameters, limit, signal }) {
      let left = limit
      let after = parameters.after
      while (left > 0) {
        const page = Math.min(left, pageRows)
        const query = { ...parameters, ...(after !== undefined && { after }), limit: String(page) }
        const answer = await ask(options, '/api/verdicts', query, signal)
        let count = 0
        for await (const row of readRows(answer, options)) {
          yield row
          after = row.cursor
          count += 1
        }
        // A search that found nothing for long names the cursor to continue from.
        const goOn = answer.headers['x-next-cursor']
        const isStuck = count === 0 && goOn === after
        if (typeof goOn === 'string') after = goOn
        if (signal.aborted || isStuck || (count < page && goOn === undefined)) return
        left -= count
      }
    },

    async *follow({ parameters, limit, signal }) {
      const { limit: _all, ...query } = parameters
      let left = limit
      let after = parameters.after
      let wasThere = false
      while (!signal.aborted) {
        try {
          const next = { ...query, ...(after !== undefined && { after }) }
          const answer = await ask(options, '/api/verdicts/stream', next, signal)
          requireEvents(answer, options)
          wasThere = true
          for await (const row of readEvents(answer, options)) {
            yield row
            after = row.cursor
            if (--left === 0) return
          }
        } catch (error) {
          if (signal.aborted) return
          // A server that never answered, or that refuses, is an error; one that went away is tried again.
          if (!wasThere || !isAbsence(error)) throw error
        }
        if (signal.aborted) return
        stderr.write(`${description} has ended the stream; asking again in ${reconnectMs / 1_000} s\n`)
        await sleep(reconnectMs, signal)
      }
    },

    async verify(verdictId, signal) {
      const answer = await ask(options, `/verify/${verdictId}`, { format: 'json' }, signal)
      return readJson(answer, options, verificationSchema)
    },

    async *trackRecord(parameters, signal) {
      const pages = pagesOf('the track record', async (after) => {
        const query = { ...parameters, ...(after !== undefined && { after }) }
        const answer = await ask(options, '/api/track-record', query, signal)
        return readJson(answer, options, trackRecordAnswerSchema)
      })
      for await (const { rows } of pages) yield* rows
    },

    async *outcomes({ exchange, coin, timeframe }, from, signal) {
      const path = `/api/series/${exchange}/${coin}/${timeframe}`
      const pages = pagesOf(path, async (after) => {
        const query = { limit: String(LIMITS.historyRows), ...(after !== undefined && { after }) }
        return readJson(await ask(options, path, query, signal), options, seriesHistorySchema)
      })
      for await (const { rows } of pages) {
        for (const { bar_close, barrier, outcome } of rows) {
          const barClose = Date.parse(bar_close)
          if (barClose < from) return
          if (outcome === null) continue
          const { race, entry_price: entryPrice, exit_price: exitPrice } = outcome
          yield { barClose, barrier, race, entryPrice, exitPrice }
        }
      }
    },

    bars: ({ exchange, coin, timeframe }, { from, to }, signal) =>
      barPages(timeframe, { from, to }, async (begin) => {
        const query = { exchange, coin, timeframe, from: String(begin), to: String(to) }
        return readJson(await ask(options, '/api/bars', query, signal), options, barsAnswerSchema)
      }),

    close: async () => undefined,
  }
}

/** @throws ServiceError `server_unreachable` for anything but what was asked for. */
export async function readJson<Schema extends z.ZodType>(
  answer: IncomingMessage,
  { url }: ServerAddress,
  schema: Schema,
): Promise<z.output<Schema>> {
  const read = schema.safeParse(readBody(await readText(answer, url, LONGEST_ANSWER)))
  if (read.success) return read.data
  throw new ServiceError('server_unreachable', {
    message: `${url} answers, but not as this release of the service does`,
  })
}

const isAbsence = (error: unknown): boolean =>
  error instanceof ServiceError && ERRORS[error.code].status === 503

function requireEvents(answer: IncomingMessage, { url }: ServerAddress): void {
  if (answer.headers['content-type']?.startsWith('text/event-stream') === true) return
  answer.destroy()
  throw new ServiceError('server_unreachable', {
    message: `${url} answers, but not with a stream of events`,
  })
}

async function* readEvents(
  answer: IncomingMessage,
  options: ServerSourceOptions,
): AsyncGenerator<VerdictRow, void, void> {
  let last: VerdictRow | undefined
  // A service sends a heartbeat: only a dead connection is silent.
  const silence = setTimeout(() => answer.destroy(lateError()), ANSWER_MS)
  answer.on('data', () => silence.refresh())
  try {
    for await (const { data } of readServerSentEvents(answer)) {
      last = JSON.parse(data) as VerdictRow
      yield last
    }
  } catch (error) {
    throw cutOff(options, last, error)
  } finally {
    clearTimeout(silence)
  }
}

async function* readRows(
  answer: IncomingMessage,
  address: ServerSourceOptions,
): AsyncGenerator<VerdictRow, void, void> {
  let last: VerdictRow | undefined
  try {
    for await (const line of readLines(answer)) {
      last = JSON.parse(line) as VerdictRow
      yield last
    }
  } catch (error) {
    throw cutOff(address, last, error)
  }
}

const cutOff = (
  { description }: ServerSourceOptions,
  last: VerdictRow | undefined,
  cause: unknown,
): ServiceError =>
  new ServiceError('server_unreachable', {
    message: `${description} stopped in the middle of its answer: ${reasonOf(cause)}. ${last === undefined ? 'Nothing was read' : `The last whole row has the cursor ${last.cursor}`}`,
    cause,
  })

/**
 * Asks a service, again where it is busy and says when, and waits for the head of its answer.
 *
 * @throws ServiceError `server_unreachable`, or what the service refused with.
 */
export async function ask(
  address: ServerAddress,
  path: string,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
  isAnswer: (status: number) => boolean = (status) => status === 200,
  send: { readonly method: string; readonly body?: JsonObject | undefined } = { method: 'GET' },
): Promise<IncomingMessage> {
  const { url } = address
  const target = new URL(`${url.replace(/\/+$/, '')}${path}?${new URLSearchParams(query).toString()}`)
  const attempt = async () => {
    const answer = await beginAnswer(address, target, signal, send)
    return { status: answer.statusCode ?? 0, retryAfter: answer.headers['retry-after'], answer }
  }
  const { status, answer } = await paced(attempt, {
    now: Date.now,
    sleep,
    signal,
    // A limit refuses before anything is done. Another refusal may come after something was.
    isPassing: (head) =>
      !isAnswer(head.status) && isBusy(head) && (send.method === 'GET' || head.status === 429),
    onWait(waitMs, head) {
      head.answer.destroy()
      address.onWait?.(waitMs, head)
    },
  })
  if (!isAnswer(status)) throw await refusalOf(answer, url)
  return answer
}

/** One request, until the head of its answer is there. */
async function beginAnswer(
  { url, socketPath, token }: ServerAddress,
  target: URL,
  signal: AbortSignal,
  send: { readonly method: string; readonly body?: JsonObject | undefined },
): Promise<IncomingMessage> {
  const request = (target.protocol === 'https:' ? requestHttps : requestHttp)(target, {
    agent: false,
    signal,
    method: send.method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(send.body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(socketPath !== undefined && { socketPath }),
  })
  const silence = setTimeout(() => request.destroy(lateError()), ANSWER_MS)
  try {
    request.end(send.body === undefined ? undefined : JSON.stringify(send.body))
    const [answer] = (await once(request, 'response')) as [IncomingMessage]
    return answer
  } catch (error) {
    throw new ServiceError('server_unreachable', {
      message: `${socketPath ?? url} does not answer: ${reasonOf(error)}`,
      cause: error,
    })
  } finally {
    clearTimeout(silence)
  }
}

const lateError = (): Error => new Error(`no answer within ${ANSWER_MS / 1_000} s`)

/** The answer of `/readyz`, as far as a command shows it. */
export interface ServiceState {
  readonly status: string
  readonly components: readonly { readonly name: string; readonly state: string; readonly detail: string }[]
  /** Only its operator sees it, and only of a release that has it. */
  readonly process?: ProcessFacts
}

/** How long a service may take to answer with its state. */
const STATE_MS = 5_000

/**
 * Asks a service for its state.
 *
 * @throws ServiceError `server_unreachable`
 */
export async function askForState(address: ServerAddress): Promise<ServiceState> {
  const signal = AbortSignal.timeout(STATE_MS)
  const answer = await ask(address, '/readyz', {}, signal, (status) => status === 200 || status === 503)
  const body = readBody(await readText(answer, address.url))
  // Only its operator sees the components.
  if (typeof body?.status === 'string') {
    return { components: [], ...body } as unknown as ServiceState
  }
  throw new ServiceError('server_unreachable', {
    message: `${address.url} answers, but not as this service does`,
  })
}

/** Characters that are read of a refusal, since a proxy may answer with a page, and of a page of answers. */
const LONGEST_REFUSAL = 65_536
const LONGEST_ANSWER = 16_777_216

/** A refusal in the words of the service; anything else that answers is not one. */
async function refusalOf(answer: IncomingMessage, url: string): Promise<ServiceError> {
  const body = readBody(await readText(answer, url))
  const { code, message } = body ?? {}
  if (typeof code === 'string' && typeof message === 'string' && Object.hasOwn(ERRORS, code)) {
    return new ServiceError(code as ErrorCode, { message })
  }
  return new ServiceError('server_unreachable', {
    message: `${url} answers with status ${answer.statusCode}, which is not an answer of this service`,
  })
}

/** @throws ServiceError `server_unreachable` for an answer that does not end */
async function readText(answer: IncomingMessage, url: string, longest = LONGEST_REFUSAL): Promise<string> {
  const late = setTimeout(() => answer.destroy(lateError()), ANSWER_MS)
  let text = ''
  try {
    for await (const chunk of answer.setEncoding('utf8')) {
      text += String(chunk)
      if (text.length > longest) break
    }
  } catch (cause) {
    throw new ServiceError('server_unreachable', {
      message: `${url} stopped in the middle of its answer: ${reasonOf(cause)}`,
      cause,
    })
  } finally {
    clearTimeout(late)
  }
  return text
}

/** Undefined for anything but JSON, which a proxy may answer with. */
function readBody(text: string): JsonObject | undefined {
  try {
    return JSON.parse(text) as JsonObject
  } catch {
    return undefined
  }
}
