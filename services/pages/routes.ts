import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { LIMITS } from '../../contracts/limits.ts'
import { formOf } from '../http/bodies.ts'
import { limitPages } from './page-limit.ts'
import { accountPages } from './pages/account.ts'
import { type OAuthPagesOptions, oauthPages } from './pages/oauth-routes.ts'
import { type PagesOptions, seriesPages } from './pages/series.ts'
import { trackRecordPages } from './pages/track-record.ts'
import { webhookPageRoutes } from './pages/webhook-routes.ts'

/** Pages for people. A page makes the requests of a program on behalf of its visitor, and shows the answers. */
export const pages: FastifyPluginAsyncZod<
  PagesOptions & {
    /** Undefined without accounts. */
    readonly oauth: Omit<OAuthPagesOptions, keyof PagesOptions> | undefined
    readonly hasWebhooks: boolean
    /** Client address of a request. */
    readonly addressOf: (request: FastifyRequest) => string
  }
> = async (app, options) => {
  // Forms are read here and nowhere else: what takes JSON takes nothing that another site's page could send.
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: LIMITS.requestBodyBytes },
    (_request, body, done) => done(null, formOf(String(body))),
  )
  await app.register(async (limited) => {
    limitPages(limited, options.addressOf)
    await limited.register(seriesPages, options)
    await limited.register(trackRecordPages, options)
    if (options.oauth !== undefined) await limited.register(accountPages, options)
  })
  if (options.oauth !== undefined) await app.register(oauthPages, { ...options, ...options.oauth })
  if (options.hasWebhooks) await app.register(webhookPageRoutes, options)
}
