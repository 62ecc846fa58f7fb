import type { Dispatcher } from 'undici'
import { assert } from '../../../contracts/assert.ts'
import { isServiceError, reasonOf } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { retryAfterMs } from '../../runtime/http/retry-after.ts'
import type { Timed } from './deadline-sweep.ts'
import { refusalIn } from './guarded-connector.ts'
import type { Lane, OriginPool } from './origin-pools.ts'
import type { SendOutcome } from './sender.ts'

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

export interface ExchangeOptions extends Pick<Clock, 'now'> {
  readonly startedAt: number
  /** Called once. */
  readonly finished: (outcome: ExchangeOutcome) => void
  readonly mayBegin?: (() => boolean) | undefined
  /** Ends it once it is aborted. */
  readonly signal: AbortSignal | undefined
  readonly connections: OriginPool
  readonly request: Dispatcher.DispatchOptions
}

/** Answers like `103 Early Hints` in front of the real one. */
const INTERIM_ANSWERS = 16

/** Codes of the client for a connection that the other side closed. */
const CLOSED: readonly unknown[] = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']

/**
 * One request and its answer, and the client's handler for it. It reports the outcome as soon as it is known; later
 * events of the endpoint or the client change nothing.
 */
export class Exchange implements Timed, Dispatcher.DispatchHandler {
  readonly startedAt: number
  place = -1
  readonly signal: AbortSignal | undefined
  readonly #options: ExchangeOptions
  #controller: Dispatcher.DispatchController | undefined
  #lane: Lane | undefined
  #tries = 0
  /** How often its connection had been made when it was given to it. */
  #connectsBefore = 0
  #isSettled = false
  #isAnswering = false
  #interimAnswers = 0
  #status: number | undefined
  #headers: Readonly<Record<string, string | string[] | undefined>> = {}
  #readBytes = 0
  #keptBytes = 0
  readonly #kept: Uint8Array[] = []

  constructor(options: ExchangeOptions) {
    this.#options = options
    this.startedAt = options.startedAt
    this.signal = options.signal
  }

  get isOver(): boolean {
    return this.#isSettled
  }

  begin(lane: Lane): void {
    this.#lane = lane
    this.#tries += 1
    this.#connectsBefore = lane.connects
    lane.client.dispatch(this.#options.request, this)
  }

  /** Ends it from outside: the request is not sent any more, or its connection is closed. */
  end(kind: 'timed_out' | 'aborted', detail: string): void {
    if (this.#isSettled) return
    this.#fail(kind, detail)
    this.#controller?.abort(new Error(detail))
  }

  onRequestStart(started: Dispatcher.DispatchController): void {
    // The outcome is reported already, so it must not be sent; throwing takes it out and leaves the connection open.
    if (!this.#isSettled && this.#options.mayBegin?.() === false)
      this.#fail('aborted', 'it may not be sent any more')
    if (this.#isSettled) throw new Error('ended before it was sent')
    this.#controller = started
  }

  onResponseStarted(): void {
    this.#isAnswering = true
  }

  onResponseStart(
    current: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status >= 200) {
      this.#status = status
      this.#headers = headers
    } else if (++this.#interimAnswers > INTERIM_ANSWERS) {
      this.#fail('broken_off', `more than ${INTERIM_ANSWERS} interim answers`)
      current.abort(new Error('too many interim answers'))
    }
  }

  onResponseData(current: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.#readBytes += chunk.length
    if (this.#keptBytes < LIMITS.webhookResponseKeptBytes) {
      const piece = chunk.subarray(0, LIMITS.webhookResponseKeptBytes - this.#keptBytes)
      this.#kept.push(piece)
      this.#keptBytes += piece.length
    }
    assert(
      this.#keptBytes <= LIMITS.webhookResponseKeptBytes,
      'of an answer few bytes are kept',
      this.#keptBytes,
    )
    if (this.#readBytes <= LIMITS.webhookResponseBytes) return
    this.#answered()
    current.abort(new Error('the rest of the answer is not read'))
  }

  onResponseEnd(): void {
    this.#answered()
    if (this.#lane !== undefined) this.#options.connections.free(this.#lane)
  }

  onResponseError(_current: Dispatcher.DispatchController | null, error: Error): void {
    const lane = this.#lane
    if (lane === undefined) return
    const refused = refusalIn(error)
    // A connection from before was closed, with not a byte of an answer.
    const isStale = this.#tries === 1 && lane.connects === this.#connectsBefore
    const isClosed = 'code' in error && CLOSED.includes(error.code)
    const isSentAgain = !this.#isSettled && isStale && !this.#isAnswering && isClosed
    if (refused !== undefined) this.#fail('url_refused', refused.message)
    else if (this.#controller === undefined) this.#fail('connect_failed', wordsOf(error))
    else if (!isSentAgain) this.#fail('broken_off', wordsOf(error))
    // The client is still at work on the fault.
    queueMicrotask(() => (isSentAgain ? this.begin(lane) : this.#options.connections.free(lane)))
  }

  #finish(outcome: ExchangeOutcome): void {
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
    const { now } = this.#options
    this.#finish({
      kind: 'answered',
      status: this.#status,
      retryAfterMs: after ? retryAfterMs(after, now(), LIMITS.webhookRetryAfterMs) : undefined,
      // What was packed is not unpacked: a few bytes can become millions.
      detail: isEncoded ? keptText(`(a body encoded as ${String(encoding)})`) : answerText(this.#kept),
    })
  }
}

/** Several addresses of a name may each have failed in their own way. */
function wordsOf(error: Error): string {
  if (error instanceof AggregateError) return [...new Set(error.errors.map(reasonOf))].join('; ')
  if (isServiceError(error) || error.message !== '') return error.message
  return 'code' in error ? String(error.code) : error.name
}
