import { ERRORS, reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { AnswerTooLong, boundedFetch } from '../../runtime/http/bounded-fetch.ts'
import { type AnswerHead, paced } from '../../runtime/http/paced.ts'

/** A place to read a log from. Paths are those of the service, without the first slash: `log/checkpoint`. */
export interface LogSource {
  /** Undefined for what is not there. @throws ServiceError `server_unreachable`, `config_invalid` */
  get(path: string): Promise<Buffer | undefined>
}

/** Longer than any answer that an audit asks for. */
const MOST_BYTES = 64 * 1024 * 1024
/** A venue may have to be asked for bars before they are answered. */
const ANSWER_MS = 120_000

export interface ServiceSourceOptions extends Pick<Clock, 'now' | 'sleep'> {
  readonly signal: AbortSignal
  /** Called before each wait for a busy service, with the reason. */
  readonly onWait?: (waitMs: number, why: string) => void
}

interface Answered extends AnswerHead {
  readonly body: Buffer
  readonly why: string
}

/**
 * A log as its service serves it, asked no faster than the service allows.
 *
 * @param address of the service
 */
export function serviceSource(
  address: string,
  { now, sleep, signal, onWait }: ServiceSourceOptions,
): LogSource {
  const base = address.replace(/\/+$/, '')
  /** An address at which nobody ever answered is not waited for. */
  let isThere = false

  async function ask(path: string): Promise<Answered> {
    try {
      const bounds = { signal, timeMs: ANSWER_MS, mostBytes: MOST_BYTES }
      const { status, headers, body } = await boundedFetch(`${base}/${path}`, {}, bounds)
      isThere = true
      const retryAfter = headers.get('retry-after')
      const asks = retryAfter === null ? '' : `, Retry-After: ${retryAfter.slice(0, 40)}`
      // Bars that it does not have, it will not have a moment later.
      if (status === ERRORS.market_data_missing.status && body.includes('"code":"market_data_missing"'))
        return { status: 404, retryAfter: undefined, body, why: '' }
      return { status, retryAfter, body, why: `it answers ${status} to /${path}${asks}` }
    } catch (error) {
      if (signal.aborted || !isThere || error instanceof AnswerTooLong)
        throw unreachable(reasonOf(error), error)
      const why = `it does not answer to /${path}: ${reasonOf(error)}`
      return { status: NO_ANSWER, retryAfter: undefined, body: Buffer.alloc(0), why }
    }
  }

  const unreachable = (why: string, cause?: unknown): ServiceError =>
    new ServiceError('server_unreachable', {
      message: `${base} cannot be audited: ${why}`,
      nextStep: isThere ? 'Run the same command again later.' : ERRORS.server_unreachable.nextStep,
      cause,
    })

  return {
    async get(path) {
      const pacing = {
        now,
        sleep,
        signal,
        onWait: (waitMs: number, { why }: Answered) => onWait?.(waitMs, why),
        isPassing: ({ status }: Answered) => PASSING.has(status),
      }
      const { status, body, why } = await paced(() => ask(path), pacing)
      if (status === 404) return undefined
      if (status !== 200) throw unreachable(why)
      return body
    },
  }
}

const NO_ANSWER = 0
/** A service that is busy, or is being started again behind its proxy. */
const PASSING: ReadonlySet<number> = new Set([NO_ANSWER, 429, 502, 503, 504])

/**
 * Reads what is at a path.
 *
 * @throws what `get` and `read` throw
 */
export async function readAt<Read>(
  source: LogSource,
  path: string,
  read: (bytes: Buffer) => Read,
): Promise<Read | undefined> {
  const bytes = await source.get(path)
  return bytes === undefined ? undefined : read(bytes)
}
