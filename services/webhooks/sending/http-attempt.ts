import type { Dispatcher } from 'undici'
import { assert } from '../../../contracts/errors/assert.ts'
import { isServiceError, reasonOf } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { retryAfterMs } from '../../runtime/http/retry-after.ts'
import { refusalIn } from './guarded-agent.ts'
import type { SendOutcome } from './sender.ts'

/** Characters that terminals and logs act on; tabs and line breaks may stay. */
const CONTROLS = /[^\P{Cc}\t\n\r]/gu

/**
 * The first bytes of an answer as text that can be stored and shown, at most `LIMITS.webhookResponseKeptBytes` as
 * UTF-8. Bytes that are no text show as U+FFFD.
 */
export function answerText(chunks: readonly Uint8Array[]): string {
  if (chunks.length === 0) return ''
  // As a stream, so that a character cut at the end is left out instead of shown as damage.
  return keptText(new TextDecoder('utf-8').decode(Buffer.concat(chunks), { stream: true }))
}

/** A text cut to the length that is kept of an answer. */
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
export type HttpOutcome = Omit<SendOutcome, 'durationMs'>

export interface HttpAttemptOptions {
  /** Unix milliseconds. */
  readonly now: () => number
  /** Called once. */
  readonly finished: (outcome: HttpOutcome) => void
  readonly mayBegin: (() => boolean) | undefined
  /** Gives the request to the client. */
  readonly dispatch: (attempt: HttpAttempt) => void
  /** Whether it went over a connection from before. */
  readonly isOverKept: () => boolean
}

/** Answers like `103 Early Hints` in front of the real one. */
const INTERIM_ANSWERS = 16

/** Codes of the client for a connection that the other side closed. */
const CLOSED: readonly unknown[] = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']

/**
 * One request and its answer, as the client's handler for it. It reports the outcome as soon as it is known; later
 * events of the endpoint or the client change nothing.
 */
export class HttpAttempt implements Dispatcher.DispatchHandler {
  readonly #options: HttpAttemptOptions
  #controller: Dispatcher.DispatchController | undefined
  #isRepeated = false
  #isSettled = false
  #isAnswering = false
  #interimAnswers = 0
  #status: number | undefined
  #headers: Readonly<Record<string, string | string[] | undefined>> = {}
  #readBytes = 0
  #keptBytes = 0
  readonly #kept: Uint8Array[] = []

  constructor(options: HttpAttemptOptions) {
    this.#options = options
  }

  begin(): void {
    this.#options.dispatch(this)
  }

  /** Ends it from outside: the request is not sent any more, or its connection is closed. */
  end(kind: 'timed_out' | 'aborted', detail: string): void {
    if (this.#isSettled) return
    this.#fail(kind, detail)
    this.#controller?.abort(new Error(detail))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // The outcome is reported already, so it must not be sent; throwing takes it out and leaves the connection open.
    if (!this.#isSettled && this.#options.mayBegin?.() === false)
      this.#fail('aborted', 'it may not be sent any more')
    if (this.#isSettled) throw new Error('ended before it was sent')
    this.#controller = controller
  }

  onResponseStarted(): void {
    this.#isAnswering = true
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status >= 200) {
      this.#status = status
      this.#headers = headers
    } else if (++this.#interimAnswers > INTERIM_ANSWERS) {
      this.#fail('broken_off', `more than ${INTERIM_ANSWERS} interim answers`)
      controller.abort(new Error('too many interim answers'))
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.#readBytes += chunk.length
    const piece = chunk.subarray(0, LIMITS.webhookResponseKeptBytes - this.#keptBytes)
    if (piece.length > 0) this.#kept.push(piece)
    this.#keptBytes += piece.length
    assert(
      this.#keptBytes <= LIMITS.webhookResponseKeptBytes,
      'of an answer few bytes are kept',
      this.#keptBytes,
    )
    if (this.#readBytes <= LIMITS.webhookResponseBytes) return
    this.#answered()
    controller.abort(new Error('the rest of the answer is not read'))
  }

  onResponseEnd(): void {
    // The client has its connection free a turn later: what follows at once would open another one.
    queueMicrotask(() => setImmediate(() => this.#answered()))
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#isSettled) return
    const { dispatch, isOverKept } = this.#options
    const refused = refusalIn(error)
    if (refused !== undefined) return this.#fail('url_refused', refused.message)
    if (this.#controller === undefined) return this.#fail('connect_failed', wordsOf(error))
    // A connection from before was closed, with not a byte of an answer: it is sent once more.
    const isClosed = 'code' in error && CLOSED.includes(error.code)
    if (this.#isRepeated || this.#isAnswering || !isClosed || !isOverKept())
      return this.#fail('broken_off', wordsOf(error))
    this.#isRepeated = true
    // The client is still at work on the fault.
    queueMicrotask(() => dispatch(this))
  }

  #finish(outcome: HttpOutcome): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#options.finished(outcome)
  }

  #fail(kind: Exclude<SendOutcome['kind'], 'answered'>, detail: string): void {
    // The status of an answer that did not end is no answer; the detail names it.
    const begun = this.#status === undefined ? '' : `answered ${this.#status}, then: `
    this.#finish({ kind, status: undefined, retryAfterMs: undefined, detail: keptText(`${begun}${detail}`) })
  }

  #answered(): void {
    const { 'content-encoding': encoding, 'retry-after': after } = this.#headers
    const isEncoded = encoding !== undefined && encoding !== 'identity'
    this.#finish({
      kind: 'answered',
      status: this.#status,
      retryAfterMs: after ? retryAfterMs(after, this.#options.now(), LIMITS.webhookRetryAfterMs) : undefined,
      // Packed bodies are not unpacked: a few bytes can become millions.
      detail: isEncoded ? keptText(`(a body encoded as ${String(encoding)})`) : answerText(this.#kept),
    })
  }
}

/** Several addresses of a name may each have failed in their own way. */
function wordsOf(error: Error): string {
  if (error instanceof AggregateError) return [...new Set(error.errors.map(reasonOf))].join('; ')
  if ('code' in error && error.code === 'UND_ERR_CONNECT_TIMEOUT') return 'no connection in time'
  if (isServiceError(error) || error.message !== '') return error.message
  return 'code' in error ? String(error.code) : error.name
}
