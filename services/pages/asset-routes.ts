import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { ASSETS, ICON } from './assets.ts'

const FOR_EVER = 'public, max-age=31536000, immutable'
const A_DAY = 'public, max-age=86400'

/** Crawlers find the board, the record and the documentation; a page for each verdict has no end. */
const ROBOTS = `User-agent: *
Disallow: /verify/
Disallow: /account
Disallow: /webhooks
Disallow: /api/
Disallow: /log/
Disallow: /sealed/
`

/** Addresses that people try, or get by cutting another one. */
const USUAL: Readonly<Record<string, string>> = {
  '/series': '/#series',
  '/series/:exchange': '/#series',
  '/login': '/account',
  '/pricing': '/docs/prices',
  '/api': '/docs/api',
}

/** The files that pages load, each under a name that changes with its content, and those that browsers look for. */
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
  app.get('/favicon.ico', async (_request, reply) =>
    reply.headers({ 'content-type': ICON.type, 'cache-control': A_DAY }).send(ICON.body),
  )
  app.get('/robots.txt', async (_request, reply) =>
    reply.headers({ 'content-type': 'text/plain; charset=utf-8', 'cache-control': A_DAY }).send(ROBOTS),
  )
  for (const [path, onward] of Object.entries(USUAL))
    app.get(path, async (_request, reply) => reply.redirect(onward, 302))
  app.get<{ Params: { coin: string } }>('/series/:exchange/:coin', async ({ params }, reply) =>
    reply.redirect(`/?coin=${encodeURIComponent(params.coin)}#series`, 302),
  )
}
