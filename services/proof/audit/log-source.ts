import { ERRORS, reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { AnswerTooLong, boundedFetch } from '../../runtime/http/bounded-fetch.ts'
import { type AnswerHead, paced } from '../../runtime/http/paced.ts'

/** A place to read a log from. Paths are those of the service, without the first slash: `log/checkpoint`. */
export interface LogSource {
  /** Undefined for what is not there. @throws ServiceError `server_unreachable` */
  get(path: string): Promise<Buffer | undefined>
}

/** Longer than any answer that an audit asks for. */
const MOST_BYTES = 64 * 1024 * 1024
/** A service may have to ask a venue for bars first. */
const ANSWER_MS = 120_000
const NO_ANSWER = 0
/** A service that is busy, or restarts behind its proxy. */
const PASSING: ReadonlySet<number> = new Set([NO_ANSWER, 429, 502, 503, 504])

interface SourceOptions extends Pick<Clock, 'now' | 'sleep'> {
  readonly signal: AbortSignal
  /** Called before each wait for a busy service, with the reason. */
  readonly onWait?: (waitMs: number, why: string) => void
}

interface Answer extends AnswerHead {
  readonly body: Buffer
  readonly why: string
}

/** A log as the service at an address serves it, asked no faster than the service allows. */
export function serviceSource(address: string, { now, sleep, signal, onWait }: SourceOptions): LogSource {
  const base = address.replace(/\/+$/, '')
  /** An address at which nobody ever answered is not waited for. */
  let isThere = false

  const unreachable = (why: string, cause?: unknown): ServiceError =>
    new ServiceError('server_unreachable', {
      message: `${base} cannot be audited: ${why}`,
      nextStep: isThere ? 'Run the same command again later.' : ERRORS.server_unreachable.nextStep,
      cause,
    })

  async function ask(path: string): Promise<Answer> {
    try {
      const bounds = { signal, timeMs: ANSWER_MS, mostBytes: MOST_BYTES }
      const { status, headers, body } = await boundedFetch(`${base}/${path}`, {}, bounds)
      isThere = true
      const retryAfter = headers.get('retry-after')
      const asks = retryAfter === null ? '' : `, Retry-After: ${retryAfter.slice(0, 40)}`
      // A service without these bars will not have them a moment later.
      const isMissing =
        status === ERRORS.market_data_missing.status && body.includes('"code":"market_data_missing"')
      return {
        status: isMissing ? 404 : status,
        retryAfter,
        body,
        why: `it answers ${status} to /${path}${asks}`,
      }
    } catch (error) {
      if (signal.aborted || !isThere || error instanceof AnswerTooLong)
        throw unreachable(reasonOf(error), error)
      const why = `it does not answer to /${path}: ${reasonOf(error)}`
      return { status: NO_ANSWER, retryAfter: undefined, body: Buffer.alloc(0), why }
    }
  }

  return {
    async get(path) {
      const isPassing = ({ status }: Answer): boolean => PASSING.has(status)
      const onBusy = (waitMs: number, { why }: Answer): void => onWait?.(waitMs, why)
      const answer = await paced(() => ask(path), { now, sleep, signal, isPassing, onWait: onBusy })
      if (answer.status === 404) return undefined
      if (answer.status !== 200) throw unreachable(answer.why)
      return answer.body
    },
  }
}
