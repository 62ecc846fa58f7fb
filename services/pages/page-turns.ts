import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ServiceError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { addressSite } from '../http/client-address.ts'
import { isByOwnersDoor } from '../http/operator.ts'
import { createLine, PROCESS_TIME } from '../runtime/admission/line.ts'
import type { PageClient, PageRequest } from './api-client.ts'

/** A page that is being made. */
interface Visit {
  /** Aborted once it was answered, or nobody waits for it any more. */
  readonly over: AbortController
  /** Undefined until its first look, and while it waits for something else. */
  turn: Promise<() => void> | undefined
}

/** While others wait, a place rests so many times as long as its page took, and no longer than this. */
const RESTS = 2
const MOST_REST_MS = 1_000

/**
 * Makes a few pages at a time, of addresses in turn, so that a flood of visits leaves most of the process to callers. A
 * page takes its place when it first looks something up, and gives it back when its answer is known. So a place is held
 * by what computes, and never by what is waited for: a body, a stranger's document, a mail server, a venue, a reader.
 * The owner waits for nobody.
 *
 * @param market bars of a live one are waited for; elsewhere they are computed
 * @returns the client that pages look things up with
 */
export function usePageTurns(
  app: FastifyInstance,
  client: PageClient,
  addressOf: (request: FastifyRequest) => string,
  market: string,
): PageClient {
  const line = createLine({
    places: LIMITS.pagesAtOnce,
    each: LIMITS.pagesPerAddress,
    waiting: LIMITS.pagesWaiting,
    heldMs: LIMITS.pageHeldMs,
    restMs: (workedMs, waiting) => (waiting === 0 ? 0 : Math.min(MOST_REST_MS, RESTS * workedMs)),
    full: noRoom,
    time: PROCESS_TIME,
  })
  const visits = new WeakMap<FastifyRequest, Visit>()
  /** Looks that wait for their own turn, at a venue or among those of an account. */
  const hasOwnLine = (path: string): boolean =>
    path.startsWith('/api/webhooks') || (market === 'live' && path.startsWith('/api/bars'))

  app.addHook('preHandler', (request: FastifyRequest, reply: FastifyReply, done) => {
    const visit: Visit = { over: new AbortController(), turn: undefined }
    if (!isByOwnersDoor(request)) visits.set(request, visit)
    reply.raw.once('close', () => visit.over.abort(new ServiceError('shutting_down')))
    done()
  })
  app.addHook('onSend', (request, _reply, _payload, done) => {
    const visit = visits.get(request)
    visits.delete(request)
    visit?.over.abort(new ServiceError('shutting_down'))
    visit?.turn?.then((leave) => leave(), ignore)
    done()
  })

  async function inTurn<Answer>(
    request: FastifyRequest,
    { method = 'GET', path }: PageRequest,
    ask: () => Promise<Answer>,
  ): Promise<Answer> {
    const visit = visits.get(request)
    if (visit === undefined) return ask()
    const enter = () => (visit.turn ??= line.enter(addressSite(addressOf(request)), visit.over.signal))
    if (method === 'GET' && !hasOwnLine(path)) {
      await enter()
      return ask()
    }
    const { turn } = visit
    visit.turn = undefined
    ;(await turn)?.()
    const answer = await ask()
    // The page is drawn from the answer in turn again.
    if (turn !== undefined) await enter()
    return answer
  }

  return {
    ask: (request, asked) => inTurn(request, asked, () => client.ask(request, asked)),
    must: (request, asked) => inTurn(request, asked, () => client.must(request, asked)),
  }
}

/** The one who asked for it has its refusal. */
const ignore = (): void => undefined

const noRoom = (whose: 'subject' | 'all', count: number): ServiceError =>
  whose === 'subject'
    ? new ServiceError('rate_limited', {
        message: `${count} pages of this address are being made, which is as many as it may have at a time`,
        details: { limit: count, per: 'address' },
      })
    : new ServiceError('too_many_streams', {
        message: `${count} pages wait to be made, which is as many as this process serves`,
      })
