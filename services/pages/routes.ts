import formbody from '@fastify/formbody'
import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { siteOf } from '../http/client-address.ts'
import { isByOwnersDoor } from '../http/operator.ts'
import type { AccountRoutesOptions } from '../http/routes/accounts.ts'
import { createLine, PROCESS_TIME } from '../runtime/admission/line.ts'
import { createPageClient } from './api-client.ts'
import { assetRoutes } from './assets.ts'
import { accountPages } from './pages/account.ts'
import { type BoardPagesOptions, boardPages } from './pages/board.ts'
import { type DocsRoutesOptions, docsRoutes } from './pages/docs.ts'
import { oauthPages } from './pages/oauth-consent.ts'
import { seriesPages } from './pages/series.ts'
import { trackRecordPages } from './pages/track-record.ts'
import { type VerifyRoutesOptions, verifyRoutes } from './pages/verify.ts'
import { webhookPageRoutes } from './pages/webhooks.ts'

/** Parts that are left out have no pages. */
export interface PagesPluginOptions extends Omit<BoardPagesOptions, 'hasSignIn'>, VerifyRoutesOptions {
  readonly accounts?: AccountRoutesOptions | undefined
  readonly knowledge?: Omit<DocsRoutesOptions, 'frame'> | undefined
  readonly webhooks?: object | undefined
  /** Shows that a request was made by this process. */
  readonly ownProof: string
}

/** Pages for people. A page makes the requests of a program on behalf of its visitor, and shows the answers. */
export const pagesPlugin: FastifyPluginAsync<PagesPluginOptions> = async (app, options) => {
  const { accounts, knowledge, webhooks, frame } = options
  const client = createPageClient(app, options.ownProof)
  await app.register(assetRoutes)
  await app.register(boardPages, { ...options, hasSignIn: accounts !== undefined })
  await app.register(verifyRoutes, options)
  if (knowledge !== undefined) await app.register(docsRoutes, { ...knowledge, frame })
  await app.register(async (forms) => {
    // Forms are read here and nowhere else: what takes JSON takes nothing that another site's page could send.
    await forms.register(formbody)
    await forms.register(async (limited) => {
      limitPages(limited)
      await limited.register(seriesPages, { client, frame })
      await limited.register(trackRecordPages, { client, frame })
      if (accounts !== undefined) await limited.register(accountPages, { client, frame })
    })
    if (accounts !== undefined) await forms.register(oauthPages, { client, frame, ...accounts })
    if (webhooks !== undefined) await forms.register(webhookPageRoutes, { client, frame })
  })
}

/** A place rests after its page, for longer while others wait: most of the process is left to callers. */
const restMs = (workedMs: number, waiting: number): number =>
  Math.min(1_000, Math.max(10, waiting === 0 ? 0 : 2 * workedMs))

/**
 * Makes a few pages at a time, of addresses in turn. A page has its place from the moment its request is read until it
 * is sent; a slow reader holds none, and neither does a form, which waits for others. The operator waits for nobody.
 */
function limitPages(app: FastifyInstance): void {
  const line = createLine({
    places: LIMITS.pagesAtOnce,
    each: LIMITS.pagesPerAddress,
    waiting: LIMITS.pagesWaiting,
    heldMs: LIMITS.pageHeldMs,
    restMs,
    full: (whose, count) =>
      new ServiceError(whose === 'subject' ? 'rate_limited' : 'overloaded', {
        message: `${count} pages wait to be made, which is as many as ${whose === 'subject' ? 'an address may have' : 'this process serves'} at a time`,
      }),
    time: PROCESS_TIME,
  })
  const leaving = new WeakMap<FastifyRequest, () => void>()

  app.addHook('preHandler', async (request, reply) => {
    if (request.method !== 'GET' || isByOwnersDoor(request)) return
    const gone = new AbortController()
    const leave = () => gone.abort(new ServiceError('shutting_down'))
    reply.raw.once('close', leave)
    const giveBack = await line.enter(siteOf(request), gone.signal)
    reply.raw.off('close', leave).once('close', giveBack)
    leaving.set(request, giveBack)
  })
  app.addHook('onSend', async (request) => leaving.get(request)?.())
}
