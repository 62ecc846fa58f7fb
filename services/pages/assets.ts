import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { FOR_EVER } from '../http/send-public.ts'

const SCRIPT_TYPE = 'text/javascript; charset=utf-8'

/** Reads a file that pages load. Its name changes with its content, so caches may keep it forever. */
function readAsset(name: string, type: string, at = new URL(`assets/${name}`, import.meta.url)) {
  const body = readFileSync(at)
  const [stem, ending] = name.split('.')
  const path = `/assets/${stem}.${hash('sha256', body).slice(0, 12)}.${ending}`
  return { path, type, body, gzipped: gzipSync(body, { level: 9 }) }
}

export const STYLE = readAsset('style.css', 'text/css; charset=utf-8')
export const SCRIPT = readAsset('page.mjs', SCRIPT_TYPE)
/** For the page of a verdict alone. */
export const PROOF_SCRIPT = readAsset('proof.mjs', SCRIPT_TYPE)
/** For the page of a series alone. */
export const SERIES_SCRIPT = readAsset('series.mjs', SCRIPT_TYPE)
/** All of lightweight-charts in one file, which its package has beside the one for bundlers. */
const library = 'lightweight-charts.standalone.production.mjs'
const libraryAt = new URL(library, import.meta.resolve('lightweight-charts'))
export const CHART_LIBRARY = readAsset('charts.mjs', SCRIPT_TYPE, libraryAt)
export const ICON = readAsset('favicon.svg', 'image/svg+xml')
export const PREVIEW = readAsset('preview.png', 'image/png')
export const ASSETS = [STYLE, SCRIPT, PROOF_SCRIPT, SERIES_SCRIPT, CHART_LIBRARY, ICON, PREVIEW] as const

/** Crawlers find the board, the record and the documentation; a page for each verdict has no end. */
const ROBOTS = `User-agent: *
Disallow: /verify/
Disallow: /account
Disallow: /webhooks
Disallow: /api/
Disallow: /log/
Disallow: /sealed/
`

/** The files that pages load, and those that browsers and crawlers look for. */
export const assetRoutes: FastifyPluginAsyncZod = async (app) => {
  for (const { path, type, body, gzipped } of ASSETS) {
    app.get(path, async (request, reply) => {
      reply.headers({
        'content-type': type,
        'cache-control': FOR_EVER,
        vary: 'accept-encoding',
      })
      // Services that show previews of pages load images from their own origin.
      if (type === 'image/png') return reply.header('cross-origin-resource-policy', 'cross-origin').send(body)
      const isGzip = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
      return isGzip ? reply.header('content-encoding', 'gzip').send(gzipped) : reply.send(body)
    })
  }
  const day = { 'cache-control': 'public, max-age=86400' }
  app.get('/favicon.ico', async (_request, reply) => reply.headers(day).type(ICON.type).send(ICON.body))
  app.get('/robots.txt', async (_request, reply) =>
    reply.headers(day).type('text/plain; charset=utf-8').send(ROBOTS),
  )
}
