import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { ASSETS, ICON } from './assets.ts'

const FOR_EVER = 'public, max-age=31536000, immutable'

/** The files that pages load: style, script and pictures, each under a name that changes with its content. */
export const assetRoutes: FastifyPluginAsyncZod = async (app) => {
  for (const { path, type, body, gzipped } of ASSETS) {
    app.get(path, async (request, reply) => {
      reply.headers({ 'content-type': type, 'cache-control': FOR_EVER, vary: 'accept-encoding' })
      // Previews are made by services that show pages of others.
      if (type === 'image/png') return reply.header('cross-origin-resource-policy', 'cross-origin').send(body)
      const isGzip = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
      return isGzip ? reply.header('content-encoding', 'gzip').send(gzipped) : reply.send(body)
    })
  }
  // Where browsers look by themselves.
  app.get('/favicon.ico', async (_request, reply) =>
    reply.headers({ 'content-type': ICON.type, 'cache-control': 'public, max-age=86400' }).send(ICON.body),
  )
}
