import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { siteOf } from '../http/client-address.ts'
import { isByOwnersDoor } from '../http/operator.ts'
import { createLine, PROCESS_TIME } from '../runtime/admission/line.ts'

/** While others wait, a place rests so many times as long as its page took. */
const RESTS = 2
/** A page may be made before the next request is read, so that none ever waits: its place rests all the same. */
const [LEAST_REST_MS, MOST_REST_MS] = [10, 1_000] as const

/**
 * Makes a few pages at a time, of addresses in turn, so that a flood of visits leaves most of the process to callers. A
 * page has its place from the moment its request is read until it is sent; a slow reader holds none, and neither does a
 * form, which waits for mails, documents and endpoints of others. The operator waits for nobody.
 */
export function limitPages(app: FastifyInstance): void {
  const line = createLine({
    places: LIMITS.pagesAtOnce,
    each: LIMITS.pagesPerAddress,
    waiting: LIMITS.pagesWaiting,
    heldMs: LIMITS.pageHeldMs,
    restMs: (workedMs, waiting) =>
      Math.min(MOST_REST_MS, Math.max(LEAST_REST_MS, waiting === 0 ? 0 : RESTS * workedMs)),
    full: (whose, count) =>
      whose === 'subject'
        ? new ServiceError('rate_limited', {
            message: `${count} pages of this address are being made, which is as many as it may have at a time`,
            details: { limit: count, per: 'address' },
          })
        : new ServiceError('too_many_streams', {
            message: `${count} pages wait to be made, which is as many as this process serves`,
          }),
    time: PROCESS_TIME,
  })
  const leaving = new WeakMap<FastifyRequest, () => void>()

  app.addHook('preHandler', async (request, reply) => {
    if (request.method !== 'GET' || isByOwnersDoor(request)) return
    const gone = new AbortController()
    const leave = () => gone.abort(new ServiceError('shutting_down'))
    reply.raw.once('close', leave)
    const giveBack = await line.enter(siteOf(request), gone.signal)
    reply.raw.off('close', leave).once('close', giveBack)
    leaving.set(request, giveBack)
  })
  app.addHook('onSend', async (request) => leaving.get(request)?.())
}
