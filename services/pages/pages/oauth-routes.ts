import { parse } from 'node:querystring'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { AccountAnswer } from '../../../contracts/account-answers.ts'
import { isServiceError } from '../../../contracts/errors.ts'
import { OAuthError } from '../../../contracts/oauth.ts'
import type { Accounts, AttemptLimiter, AuthorizationRequest } from '../../accounts/index.ts'
import { siteOf } from '../../http/client-address.ts'
import { callerAs } from '../../tool-calls/index.ts'
import { textOf } from '../forms.ts'
import { sendPage } from '../send-page.ts'
import { ownForm, sessionOf } from '../session.ts'
import { backPage, brokenRequestPage, consentPage, consentPolicy } from './oauth-consent.ts'
import type { PagesOptions } from './series.ts'
import { askToSignIn } from './sign-in.ts'

export interface OAuthPagesOptions extends PagesOptions {
  readonly accounts: Accounts
  /** Limits how many documents of clients are fetched for one client address. */
  readonly clientDocuments: AttemptLimiter
}

/** `/oauth/authorize`: a program sends its person here, who signs in and says whether it may act for the account. */
export const oauthPages: FastifyPluginAsync<OAuthPagesOptions> = async (app, options) => {
  const { client, frame, accounts, clientDocuments } = options
  const { oauth } = accounts
  askToSignIn(app, options)

  /** The authorization request; undefined where a page has shown its fault. */
  async function read(
    request: FastifyRequest,
    reply: FastifyReply,
    query: string,
  ): Promise<AuthorizationRequest | undefined> {
    const site = siteOf(request)
    try {
      const asked = await oauth.read(parse(query), {
        name: site,
        admit: () => clientDocuments.take(site),
      })
      if (asked.kind === 'ask') return asked.request
      sendPage(reply.code(400), frame(), backPage(asked.location))
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error
      const status = error.code === 'temporarily_unavailable' ? 503 : 400
      sendPage(reply.code(status), frame(), brokenRequestPage(error.message))
    }
    return undefined
  }

  app.get('/oauth/authorize', async (request, reply) => {
    const query = queryOf(request.url)
    const asked = await read(request, reply, query)
    if (asked === undefined) return reply
    const { email } = await client.must<AccountAnswer>(request, { path: '/api/account' })
    const page = consentPage(asked, email ?? 'an account without an address', query)
    return sendPage(reply, frame(), page, consentPolicy(asked.redirectUri))
  })

  app.post('/oauth/authorize', async (request, reply) => {
    const form = ownForm(request, frame().publicUrl)
    const asked = await read(request, reply, textOf(form, 'request'))
    if (asked === undefined) return reply
    if (textOf(form, 'decision') !== 'allow') return reply.redirect(oauth.deny(asked), 303)
    const { accountId, origin } = callerAs(await accounts.identify(sessionOf(request)), request.id)
    try {
      return reply.redirect(await oauth.allow(accountId, asked, origin), 303)
    } catch (error) {
      if (!isServiceError(error, 'too_many_apps')) throw error
      const page = brokenRequestPage(`${error.message} ${error.nextStep}`)
      return sendPage(reply.code(409), frame(), page)
    }
  })
}

const queryOf = (url: string): string => (url.includes('?') ? url.slice(url.indexOf('?') + 1) : '')
