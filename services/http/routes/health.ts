import type { FastifyPluginAsync } from 'fastify'
import type { Registry } from 'prom-client'
import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type UnreachableVenue, unreachableVenueSchema } from '../../../contracts/unreachable-venue.ts'
import { anyObject, bodyOf, operation } from '../openapi.ts'
import { isByHealthDoor, isOperator } from '../operator.ts'

/** One part that the service stands on. */
export interface Component {
  readonly name: string
  readonly state: 'ok' | 'degraded' | 'failed'
  readonly detail: string
  /** Whether the service can answer at all without it. */
  readonly isRequired: boolean
  readonly more?: JsonObject
}

/** A part that callers can do without: `ok`, or `degraded` with its problem. */
export const optionalComponent = (
  name: string,
  problem: string | undefined,
  detail: string,
  more?: JsonObject,
): Component => ({
  name,
  isRequired: false,
  state: problem === undefined ? 'ok' : 'degraded',
  detail: problem ?? detail,
  ...(more && { more }),
})

/** Which process it is, for its operator: by this several of one cluster are held against one another. */
export interface ProcessFacts {
  readonly version: string
  readonly roles: readonly string[]
  readonly log: { readonly id: string }
  /** Versions of what it runs on, as each says itself. */
  readonly runs_on: Readonly<Record<string, string>>
  /** The time of its clock, ISO 8601. */
  readonly at: string
}

export interface Readiness {
  readonly status: 'ready' | 'degraded' | 'unready'
  readonly components: readonly Component[]
  readonly process?: ProcessFacts
}

/** Ready when every part is well; unready when a required one has failed; degraded in between. */
export function readinessOf(components: readonly Component[]): Readiness {
  const hasFailed = components.some((part) => part.isRequired && part.state === 'failed')
  const isWell = components.every((part) => part.state === 'ok')
  return { status: hasFailed ? 'unready' : isWell ? 'ready' : 'degraded', components }
}

export interface HealthRoutesOptions {
  readonly readiness: () => Promise<Readiness>
  readonly metrics: Registry
  readonly operatorToken: string | undefined
  /** Venues that do not answer. */
  readonly unreachable?: (() => readonly UnreachableVenue[]) | undefined
}

const readinessSchema = z.object({
  status: z.enum(['ready', 'degraded', 'unready']),
  unreachable: z
    .array(unreachableVenueSchema)
    .optional()
    .describe('Venues of a live market that do not answer'),
  components: z
    .array(
      z.object({
        name: z.string(),
        state: z.enum(['ok', 'degraded', 'failed']),
        detail: z.string(),
        isRequired: z.boolean().describe('Whether the service can answer at all without it'),
        more: anyObject.optional(),
      }),
    )
    .optional()
    .describe('For the operator'),
  process: anyObject.optional().describe('For the operator'),
})
const live = {
  ...operation('service', 'alive', 'Whether the process is there', {
    description: 'Not counted against any limit.',
  }),
  response: { 200: z.object({ status: z.literal('alive') }) },
}
const ready = {
  ...operation('service', 'ready', 'Whether the service is healthy', {
    description: 'Not counted against any limit. The operator also sees the state of every component.',
  }),
  response: {
    200: readinessSchema.describe('It answers; `degraded`: something that it can do without is unavailable'),
    503: readinessSchema.describe('It cannot answer'),
  },
}
const measured = {
  ...operation('service', 'metrics', 'Metrics for Prometheus', {
    description: 'With the token of the operator, or at the port that is set for health.',
    security: [{ operator: [] }],
  }),
  response: bodyOf({ 'text/plain': z.string() }, 'Metrics'),
}

/**
 * Routes for machines: `/livez` (is the process there), `/readyz` (should it get requests), `/metrics`. What the parts
 * say and the metrics are the operator's: they tell of money, customers and addresses inside.
 */
export const healthRoutes: FastifyPluginAsync<HealthRoutesOptions> = async (app, options) => {
  const { metrics, operatorToken } = options
  const readiness = memoizeFor(LIMITS.readinessKeptMs, options.readiness)
  app.addHook('onSend', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
  })
  // A prober that shares its address with callers is not to take the process for dead.
  const config = { isUnlimited: true }
  app.get('/livez', { config, schema: live }, async () => ({ status: 'alive' }))
  app.get('/readyz', { config, schema: ready }, async (request, reply) => {
    const state = await readiness()
    reply.code(state.status === 'unready' ? 503 : 200)
    const isTold = isByHealthDoor(request) || isOperator(request, operatorToken)
    const away = options.unreachable?.() ?? []
    const open = { status: state.status, ...(away.length > 0 && { unreachable: away }) }
    return reply.send(isTold ? { ...state, ...open } : open)
  })
  app.get('/metrics', { schema: measured }, async (request, reply) => {
    if (!isByHealthDoor(request) && !isOperator(request, operatorToken)) {
      throw new ServiceError('unauthorized', {
        message: 'The metrics are the operator’s: send OPERATOR_TOKEN, or ask at HEALTH_PORT.',
      })
    }
    return reply.header('content-type', metrics.contentType).send(await metrics.metrics())
  })
}

/** One answer for every request within a time, unless it is a failure. */
function memoizeFor<Value>(ttlMs: number, ask: () => Promise<Value>): () => Promise<Value> {
  let until = 0
  let known: Promise<Value> | undefined
  return () => {
    if (known !== undefined && performance.now() < until) return known
    const asked = ask()
    until = performance.now() + ttlMs
    known = asked
    asked.catch(() => {
      if (known === asked) known = undefined
    })
    return asked
  }
}
