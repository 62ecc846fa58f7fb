import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { StatusAnswer } from '../../../contracts/status-answer.ts'
import { sendPage } from '../pages/send-page.ts'
import { statusPage } from '../pages/status-page.ts'
import type { PagesOptions } from './series-pages.ts'

/** `GET /status`: what was lost, for people. */
export const statusPages: FastifyPluginAsyncZod<PagesOptions> = async (app, { client, frame }) => {
  app.get('/status', async (request, reply) => {
    const status = await client.must<StatusAnswer>(request, { path: '/api/status' })
    reply.header('cache-control', 'public, max-age=2')
    return sendPage(reply, frame(), statusPage(status))
  })
}
