import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isByOwnersDoor } from './operator.ts'
import { type RateLimits, rateHeaders, rateRefusal, retryAfterSeconds } from './rate-limits.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answered however often it is asked. */
    readonly isUnlimited?: boolean
  }
}

export interface UseRateLimitsOptions {
  readonly limits: RateLimits
  readonly addressOf: (request: FastifyRequest) => string
}

/**
 * Counts every request of an app before anything else is done for it, and refuses with 429 `rate_limited` and
 * `Retry-After` past a limit. Answers say where their caller stands. The owner's door has no limits.
 */
export function useRateLimits(app: FastifyInstance, { limits, addressOf }: UseRateLimitsOptions): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.isUnlimited === true || isByOwnersDoor(request)) return
    const decision = await limits.take({ address: addressOf(request), key: bearerOf(request) })
    reply.headers(rateHeaders(decision))
    if (decision.isAdmitted) return
    reply.header('retry-after', retryAfterSeconds(decision))
    throw rateRefusal(decision)
  })
}

/** The text that was sent as a key, valid or not. */
const bearerOf = ({ headers }: FastifyRequest): string | undefined =>
  /^Bearer +([!-~]{1,512})$/i.exec(headers.authorization ?? '')?.[1]
