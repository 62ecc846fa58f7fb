import type { FastifyPluginAsync } from 'fastify'
import type { Registry } from 'prom-client'
import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { isByHealthDoor, isOperator } from '../operator.ts'
import type { Readiness } from '../readiness.ts'

export interface HealthRoutesOptions {
  readonly readiness: () => Promise<Readiness>
  readonly metrics: Registry
  readonly operatorToken: string | undefined
}

/**
 * What machines ask: `/livez` (is the process there), `/readyz` (should it get requests), `/metrics`. What the parts
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
  app.get('/livez', { config }, async () => ({ status: 'alive' }))
  app.get('/readyz', { config }, async (request, reply) => {
    const state = await readiness()
    reply.code(state.status === 'unready' ? 503 : 200)
    const isTold = isByHealthDoor(request) || isOperator(request, operatorToken)
    return reply.send(isTold ? state : { status: state.status })
  })
  app.get('/metrics', async (request, reply) => {
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
