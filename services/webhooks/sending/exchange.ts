import type { Dispatcher } from 'undici'
import { isServiceError, reasonOf } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { retryAfterMs } from '../../runtime/http/retry-after.ts'
import type { Timed } from './deadline-sweep.ts'
import { refusalIn } from './guarded-connector.ts'
import type { SendOutcome } from './sender.ts'

/** A number of seconds, with parts of them. */
const SECONDS = /^\d{1,9}(?:\.\d{1,9})?$/

/**
 * How long nothing more is taken, where what may be sent in a window is used up.
 *
 * @param remaining `X-RateLimit-Remaining`
 * @param resetAfter `X-RateLimit-Reset-After`, seconds
 * @returns milliseconds; undefined where there is room, or nothing can be read
 */
export function usedUpMs(
  remaining: string | readonly string[] | undefined,
  resetAfter: string | readonly string[] | undefined,
): number | undefined {
  if (remaining !== '0' || typeof resetAfter !== 'string' || !SECONDS.test(resetAfter)) return undefined
  return Math.min(Math.ceil(Number(resetAfter) * 1_000), LIMITS.webhookRetryAfterMs)
}

/** Characters that terminals and logs act on; tabs and line breaks may stay. */
const CONTROLS = /[^\P{Cc}\t\n\r]/gu

/**
 * The first bytes of an answer as text that can be stored and shown, at most `LIMITS.webhookResponseKeptBytes` as
 * UTF-8. What is no text shows as U+FFFD.
 */
export function answerText(chunks: readonly Uint8Array[]): string {
  if (chunks.length === 0) return ''
  // As a stream, so that a character cut at the end is left out instead of shown as damage.
  return keptText(new TextDecoder('utf-8').decode(Buffer.concat(chunks), { stream: true }))
}

/** A text cut to what is kept of an answer. */
export function keptText(text: string): string {
  const shown = text.toWellFormed().replaceAll(CONTROLS, '\uFFFD')
  // No character of UTF-16 takes more than three bytes as UTF-8.
  if (shown.length * 3 <= LIMITS.webhookResponseKeptBytes) return shown
  const kept = new Uint8Array(LIMITS.webhookResponseKeptBytes)
  // It writes whole characters only.
  const { written } = new TextEncoder().encodeInto(shown, kept)
  return new TextDecoder().decode(kept.subarray(0, written))
}

/** The outcome of a request, as far as the request itself can tell. */
export type ExchangeOutcome = Omit<SendOutcome, 'durationMs'>

/** One request and its answer. */
export interface Exchange extends Timed {
  /** The handler for the client; a second try passes it again. */
  readonly handler: Dispatcher.DispatchHandler
  /** Ends it from outside: the request is not sent any more, or its connection is closed. */
  end(kind: 'timed_out' | 'aborted', detail: string): void
}

export interface ExchangeOptions extends Pick<Clock, 'now'> {
  readonly startedAt: number
  /** Called once. */
  readonly finished: (outcome: ExchangeOutcome) => void
  readonly mayBegin?: (() => boolean) | undefined
  /** Sends it again where that is called for: a connection from before was closed with not a byte of an answer. */
  readonly sendAgain: () => boolean
}

/** Answers like `103 Early Hints` in front of the real one. */
const INTERIM_ANSWERS = 16

/** Codes of the client for a connection that the other side closed. */
const CLOSED: readonly unknown[] = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']

/**
 * Listens to one request. It reports the outcome as soon as it is known; later events of the endpoint or the client
 * change nothing.
 */
export function createExchange(options: ExchangeOptions): Exchange {
  const { startedAt, now, finished, sendAgain, mayBegin } = options
  let controller: Dispatcher.DispatchController | undefined
  let isSettled = false
  let isAnswering = false
  let interimAnswers = 0
  let status: number | undefined
  let headers: Readonly<Record<string, string | string[] | undefined>> = {}
  let readBytes = 0
  let keptBytes = 0
  const kept: Uint8Array[] = []

  function finish(outcome: ExchangeOutcome): void {
    if (isSettled) return
    isSettled = true
    finished(outcome)
  }

  const fail = (kind: Exclude<SendOutcome['kind'], 'answered'>, detail: string): void => {
    // The status of an answer that did not end is no answer; the detail names it.
    const begun = status === undefined ? '' : `answered ${status}, then: `
    finish({ kind, status: undefined, retryAfterMs: undefined, detail: keptText(`${begun}${detail}`) })
  }

  function answered(): void {
    const encoding = headers['content-encoding']
    const isEncoded = encoding !== undefined && encoding !== 'identity'
    finish({
      kind: 'answered',
      status,
      retryAfterMs: retryAfterMs(headers['retry-after'], now(), LIMITS.webhookRetryAfterMs),
      windowMs: usedUpMs(headers['x-ratelimit-remaining'], headers['x-ratelimit-reset-after']),
      // What was packed is not unpacked: a few bytes can become millions.
      detail: isEncoded ? keptText(`(a body encoded as ${String(encoding)})`) : answerText(kept),
    })
  }

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      // The outcome is reported already, so it must not be sent; throwing takes it out and leaves the connection open.
      if (!isSettled && mayBegin?.() === false) fail('aborted', 'it may not be sent any more')
      if (isSettled) throw new Error('ended before it was sent')
      controller = started
    },
    onResponseStarted() {
      isAnswering = true
    },
    onResponseStart(current, code, given) {
      if (code < 200) {
        interimAnswers += 1
        if (interimAnswers <= INTERIM_ANSWERS) return
        fail('broken_off', `more than ${INTERIM_ANSWERS} interim answers`)
        current.abort(new Error('too many interim answers'))
        return
      }
      status = code
      headers = given
    },
    onResponseData(current, chunk) {
      readBytes += chunk.length
      if (keptBytes < LIMITS.webhookResponseKeptBytes) {
        const piece = chunk.subarray(0, LIMITS.webhookResponseKeptBytes - keptBytes)
        kept.push(piece)
        keptBytes += piece.length
      }
      if (readBytes <= LIMITS.webhookResponseBytes) return
      answered()
      current.abort(new Error('the rest of the answer is not read'))
    },
    onResponseEnd: answered,
    onResponseError(_current, error) {
      if (isSettled) return
      const refused = refusalIn(error)
      if (refused !== undefined) fail('url_refused', refused.message)
      else if (controller === undefined) fail('connect_failed', wordsOf(error))
      else if (isAnswering || !isClosed(error) || !sendAgain()) fail('broken_off', wordsOf(error))
    },
  }

  return {
    startedAt,
    handler,
    end(kind, detail) {
      if (isSettled) return
      fail(kind, detail)
      controller?.abort(new Error(detail))
    },
  }
}

const isClosed = (error: Error): boolean => 'code' in error && CLOSED.includes(error.code)

/** Several addresses of a name may each have failed in their own way. */
function wordsOf(error: Error): string {
  if (error instanceof AggregateError) return [...new Set(error.errors.map(reasonOf))].join('; ')
  if (isServiceError(error) || error.message !== '') return error.message
  return 'code' in error ? String(error.code) : error.name
}
