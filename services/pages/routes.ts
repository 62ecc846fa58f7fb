import formbody from '@fastify/formbody'
import type { FastifyPluginAsync } from 'fastify'
import type { AccountRoutesOptions } from '../http/routes/accounts.ts'
import { createPageClient } from './api-client.ts'
import { assetRoutes } from './assets.ts'
import type { PageFrame } from './layout.ts'
import { limitPages } from './page-limit.ts'
import { accountPages } from './pages/account.ts'
import { type BoardPagesOptions, boardPages } from './pages/board.ts'
import { type DocsRoutesOptions, docsRoutes } from './pages/docs.ts'
import { oauthPages } from './pages/oauth-consent.ts'
import { seriesPages } from './pages/series.ts'
import { trackRecordPages } from './pages/track-record.ts'
import { type VerifyRoutesOptions, verifyRoutes } from './pages/verify.ts'
import { webhookPageRoutes } from './pages/webhook-routes.ts'

/** Parts that are left out have no pages. */
export interface PagesPluginOptions
  extends Omit<BoardPagesOptions, 'frame' | 'hasSignIn'>,
    VerifyRoutesOptions {
  readonly frame: () => PageFrame
  readonly publicUrl: () => string
  readonly accounts?: AccountRoutesOptions | undefined
  readonly knowledge?: Omit<DocsRoutesOptions, 'frame'> | undefined
  readonly webhooks?: object | undefined
  /** Shows that a request was made by this process. */
  readonly ownProof: string
}

/** Pages for people. A page makes the requests of a program on behalf of its visitor, and shows the answers. */
export const pagesPlugin: FastifyPluginAsync<PagesPluginOptions> = async (app, options) => {
  const { accounts, knowledge, webhooks, frame, publicUrl } = options
  const client = createPageClient(app, options.ownProof)
  await app.register(assetRoutes)
  await app.register(boardPages, { ...options, hasSignIn: accounts !== undefined })
  await app.register(verifyRoutes, options)
  if (knowledge !== undefined) await app.register(docsRoutes, { publicUrl, ...knowledge, frame })
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
