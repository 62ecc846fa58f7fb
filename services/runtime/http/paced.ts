import type { Clock } from '../async/clock.ts'
import { retryAfterMs } from './retry-after.ts'

/** The head of an answer, as far as it says when to ask again. */
export interface AnswerHead {
  readonly status: number
  readonly retryAfter: string | null | undefined
}

export interface Pacing<Answer> extends Pick<Clock, 'now' | 'sleep'> {
  readonly signal: AbortSignal
  /** Told of each wait before it begins. */
  readonly onWait?: ((waitMs: number, answer: Answer) => void) | undefined
  /** Whether the same may be answered later: unless told, 429, and 503 that says when. */
  readonly isPassing?: (answer: Answer) => boolean
}

/** Waits without progress: about four minutes of them where no answer asks for longer ones. */
const MOST_WAITS = 10
const FIRST_WAIT_MS = 250
/** A server that asks for a longer wait is not waited for. */
const LONGEST_WAIT_MS = 120_000

/**
 * Asks again while a server is busy, at the pace of its `Retry-After`. Ends with the last answer, so that the caller
 * refuses it in its own words.
 */
export async function paced<Answer extends AnswerHead>(
  ask: () => Promise<Answer>,
  { now, sleep, signal, onWait, isPassing = isBusy }: Pacing<Answer>,
): Promise<Answer> {
  for (let waits = 0; ; waits++) {
    const answer = await ask()
    const askedMs = retryAfterMs(answer.retryAfter, now(), Number.POSITIVE_INFINITY) ?? 0
    if (!isPassing(answer) || waits === MOST_WAITS || askedMs > LONGEST_WAIT_MS) return answer
    const waitMs = Math.max(askedMs, FIRST_WAIT_MS * 2 ** waits)
    onWait?.(waitMs, answer)
    await sleep(waitMs, signal)
  }
}

/** A limit was reached, or the server says when it will be there again. */
export const isBusy = ({ status, retryAfter }: AnswerHead): boolean =>
  status === 429 || (status === 503 && typeof retryAfter === 'string')
