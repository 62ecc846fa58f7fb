import type { FastifyPluginAsync } from 'fastify'
import type { Registry } from 'prom-client'
import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { type UnreachableVenue, unreachableVenueSchema } from '../../../contracts/errors/unreachable-venue.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { memoizeFor } from '../memoize-for.ts'
import { anyObject, bodyOf, operation } from '../openapi.ts'
import { isByHealthDoor, isOperator } from '../operator.ts'

const componentSchema = z.object({
  name: z.string(),
  state: z.enum(['ok', 'degraded', 'failed']),
  detail: z.string(),
  isRequired: z.boolean().describe('Whether the service can answer at all without it'),
  more: anyObject.optional(),
})
const readinessSchema = z.object({
  status: z.enum(['ready', 'degraded', 'unready']),
  unreachable: z.array(unreachableVenueSchema).optional().describe('Venues that do not answer'),
  components: z.array(componentSchema).optional().describe('For the operator'),
  process: anyObject.optional().describe('For the operator'),
})

/** One part that the service stands on. */
export type Component = Omit<z.infer<typeof componentSchema>, 'more'> & { readonly more?: JsonObject }

export interface Readiness {
  readonly status: z.infer<typeof readinessSchema>['status']
  readonly components: readonly Component[]
  /** Which process it is: version, roles, log, what it runs on, and its clock. */
  readonly process?: JsonObject
}

/** Ready when every part is healthy; unready when a required one has failed; degraded in between. */
export function readinessOf(components: readonly Component[]): Readiness {
  const hasFailed = components.some((part) => part.isRequired && part.state === 'failed')
  const isHealthy = components.every((part) => part.state === 'ok')
  return { status: hasFailed ? 'unready' : isHealthy ? 'ready' : 'degraded', components }
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

export interface HealthRoutesOptions {
  readonly readiness: () => Promise<Readiness>
  readonly metrics: Registry
  readonly operatorToken: string | undefined
  /** Venues that do not answer. */
  readonly unreachable?: (() => readonly UnreachableVenue[]) | undefined
}

const live = {
  ...operation('service', 'alive', 'Whether the process is there, free of limits'),
  response: { 200: z.object({ status: z.literal('alive') }) },
}
const ready = {
  ...operation('service', 'ready', 'Whether the service is healthy, free of limits'),
  description: 'The operator also sees the state of every component.',
  response: {
    200: readinessSchema.describe('It answers; `degraded`: something that it can do without is unavailable'),
    503: readinessSchema.describe('It cannot answer'),
  },
}
const measured = {
  ...operation('service', 'metrics', 'Metrics for Prometheus'),
  description: 'With the token of the operator, or at the port that is set for health.',
  security: [{ operator: [] }],
  response: bodyOf({ 'text/plain': z.string() }, 'Metrics'),
}

/**
 * Routes for machines: `/livez` (is the process there), `/readyz` (should it get requests), `/metrics`. What the parts
 * say and the metrics are the operator's: they tell of money, customers and addresses inside.
 */
export const healthRoutes: FastifyPluginAsync<HealthRoutesOptions> = async (app, options) => {
  const { metrics, operatorToken } = options
  const readiness = memoizeFor(LIMITS.readinessKeptMs, options.readiness)
  app.addHook('onSend', async (_request, reply) => void reply.header('cache-control', 'no-store'))
  // A prober that shares its address with callers is not to take the process for dead.
  const config = { isUnlimited: true }
  app.get('/livez', { config, schema: live }, async () => ({ status: 'alive' }))
  app.get('/readyz', { config, schema: ready }, async (request, reply) => {
    const state = await readiness()
    const isForOperator = isByHealthDoor(request) || isOperator(request, operatorToken)
    const unreachable = options.unreachable?.() ?? []
    const open = { status: state.status, ...(unreachable.length > 0 && { unreachable }) }
    return reply
      .code(state.status === 'unready' ? 503 : 200)
      .send(isForOperator ? { ...state, ...open } : open)
  })
  app.get('/metrics', { schema: measured }, async (request, reply) => {
    if (!isByHealthDoor(request) && !isOperator(request, operatorToken))
      throw new ServiceError('unauthorized', {
        message: 'The metrics are the operator’s: send OPERATOR_TOKEN, or ask at HEALTH_PORT.',
      })
    return reply.header('content-type', metrics.contentType).send(await metrics.metrics())
  })
}
