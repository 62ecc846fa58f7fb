import type { FastifyPluginAsync } from 'fastify'
import type { Registry } from 'prom-client'
import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type UnreachableVenue, unreachableVenueSchema } from '../../../contracts/unreachable-venue.ts'
import { bodyOfType, operationsOf } from '../openapi/operation.ts'
import { isByHealthDoor, isOperator } from '../operator.ts'
import type { Readiness } from '../readiness.ts'

export interface HealthRoutesOptions {
  readonly readiness: () => Promise<Readiness>
  readonly metrics: Registry
  readonly operatorToken: string | undefined
  /** Venues that do not answer. */
  readonly unreachable?: (() => readonly UnreachableVenue[]) | undefined
}

const describe = operationsOf({ tag: 'service' })
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
        more: z.record(z.string(), z.json()).optional(),
      }),
    )
    .optional()
    .describe('For the operator'),
})
const json = (description: string, schema: z.ZodType) => ({
  description,
  content: { 'application/json': schema },
})

/**
 * Routes for machines: `/livez` (is the process there), `/readyz` (should it get requests), `/metrics`. What the parts
 * say and the metrics are the operator's: they tell of money, customers and addresses inside.
 */
export const healthRoutes: FastifyPluginAsync<HealthRoutesOptions> = async (app, options) => {
  const { metrics, operatorToken } = options
  const readiness = keptFor(LIMITS.readinessKeptMs, options.readiness, () => performance.now())
  app.addHook('onSend', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
  })
  // A prober that shares its address with callers is not to take the process for dead.
  const config = { isUnlimited: true }
  const live = describe('alive', 'Whether the process is there', {
    description: 'Not counted against any limit.',
    answers: { 200: json('It is', z.object({ status: z.literal('alive') })) },
  })
  app.get('/livez', { config, schema: { operation: live } }, async () => ({ status: 'alive' }))
  const ready = describe('ready', 'Whether it is well', {
    description:
      'Not counted against any limit. The operator also sees the state of every part that the service depends on.',
    answers: {
      200: json('It answers; `degraded` says that something it can do without is away', readinessSchema),
      503: json('It cannot answer', readinessSchema),
    },
  })
  app.get('/readyz', { config, schema: { operation: ready } }, async (request, reply) => {
    const state = await readiness()
    reply.code(state.status === 'unready' ? 503 : 200)
    const isTold = isByHealthDoor(request) || isOperator(request, operatorToken)
    const away = options.unreachable?.() ?? []
    const open = { status: state.status, ...(away.length > 0 && { unreachable: away }) }
    return reply.send(isTold ? { ...state, ...open } : open)
  })
  const measured = describe('metrics', 'Metrics for Prometheus', {
    description: 'With the token of the operator, or at the port that is set for health.',
    isOperators: true,
    errors: ['unauthorized'],
    answers: bodyOfType('Metrics', 'text/plain'),
  })
  app.get('/metrics', { schema: { operation: measured } }, async (request, reply) => {
    if (!isByHealthDoor(request) && !isOperator(request, operatorToken)) {
      throw new ServiceError('unauthorized', {
        message: 'The metrics are the operator’s: send OPERATOR_TOKEN, or ask at HEALTH_PORT.',
      })
    }
    return reply.header('content-type', metrics.contentType).send(await metrics.metrics())
  })
}

/** Asks once for all who want to know at about the same time. */
function keptFor<Value>(keptMs: number, ask: () => Promise<Value>, now: () => number): () => Promise<Value> {
  let kept: { readonly until: number; readonly value: Promise<Value> } | undefined
  return () => {
    if (kept === undefined || now() >= kept.until) {
      const value = ask()
      const mine = { until: now() + keptMs, value }
      kept = mine
      // What failed is not kept.
      value.catch(() => {
        if (kept === mine) kept = undefined
      })
    }
    return kept.value
  }
}
