import type { FastifyPluginAsync } from 'fastify'
import type { Registry } from 'prom-client'
import type { Readiness } from '../readiness.ts'

export interface HealthRoutesOptions {
  readonly readiness: () => Promise<Readiness>
  readonly metrics: Registry
}

/** What machines ask: `/livez` (is the process there), `/readyz` (should it get requests), `/metrics`. */
export const healthRoutes: FastifyPluginAsync<HealthRoutesOptions> = async (app, { readiness, metrics }) => {
  app.addHook('onSend', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
  })
  // A prober that shares its address with callers is not to take the process for dead.
  const config = { isUnlimited: true }
  app.get('/livez', { config }, async () => ({ status: 'alive' }))
  app.get('/readyz', { config }, async (_request, reply) => {
    const state = await readiness()
    return reply.code(state.status === 'unready' ? 503 : 200).send(state)
  })
  app.get('/metrics', async (_request, reply) =>
    reply.header('content-type', metrics.contentType).send(await metrics.metrics()),
  )
}
