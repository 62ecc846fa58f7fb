import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { LIMITS } from '../../../contracts/limits.ts'
import { formOf } from '../form-bodies.ts'
import { createPageLine } from '../page-line.ts'
import { createStreamSemaphore } from '../stream-semaphore.ts'
import { accountPages } from './account-pages.ts'
import { type OAuthPagesOptions, oauthPages } from './oauth-pages.ts'
import { type OperatorPagesOptions, operatorPages } from './operator-pages.ts'
import { type PagesOptions, seriesPages } from './series-pages.ts'
import { trackRecordPages } from './track-record-pages.ts'
import { webhookPageRoutes } from './webhook-page-routes.ts'

/** What people look at. A page asks what programs ask, on behalf of its visitor, and shows what they are answered. */
export const pages: FastifyPluginAsyncZod<
  PagesOptions &
    OperatorPagesOptions & {
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
  useLine(app, options.addressOf)
  await app.register(seriesPages, options)
  await app.register(trackRecordPages, options)
  await app.register(operatorPages, options)
  if (options.oauth !== undefined) {
    await app.register(accountPages, options)
    await app.register(oauthPages, { ...options, ...options.oauth })
  }
  if (options.hasWebhooks) await app.register(webhookPageRoutes, options)
}

/** Pages wait for their turn, and give it on when what they say is known: who reads slowly holds nobody up. */
function useLine(app: FastifyInstance, addressOf: (request: FastifyRequest) => string): void {
  const line = createPageLine({
    places: createStreamSemaphore({
      what: 'pages',
      total: LIMITS.pagesWaiting,
      perAddress: LIMITS.pagesPerAddress,
    }),
    atOnce: LIMITS.pagesAtOnce,
    elapsed: () => performance.now(),
    sleep,
  })
  const ends = new WeakMap<FastifyRequest, () => void>()
  app.addHook('onRequest', async (request) => {
    const begun = Promise.withResolvers<void>()
    const made = Promise.withResolvers<void>()
    ends.set(request, made.resolve)
    line(addressOf(request), () => {
      begun.resolve()
      return made.promise
    }).catch(begun.reject)
    await begun.promise
  })
  app.addHook('onSend', async (request) => ends.get(request)?.())
  app.addHook('onResponse', async (request) => ends.get(request)?.())
}
