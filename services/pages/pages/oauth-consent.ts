import { parse } from 'node:querystring'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { AccountAnswer } from '../../../contracts/answers/account.ts'
import { OAuthError, SCOPE_MEANINGS } from '../../../contracts/domain/oauth.ts'
import { isServiceError } from '../../../contracts/errors/errors.ts'
import {
  type Accounts,
  type AttemptLimiter,
  type AuthorizationRequest,
  isLoopback,
} from '../../accounts/index.ts'
import { siteOf } from '../../http/client-address.ts'
import { callerAs } from '../../tool-calls/index.ts'
import { facts, note } from '../components.ts'
import { textOf } from '../forms.ts'
import { type Html, html } from '../html.ts'
import { PAGE_POLICY, type Page, sendPage } from '../layout.ts'
import { ownForm, sessionOf } from '../session.ts'
import type { PagesOptions } from './series.ts'
import { askToSignIn } from './sign-in.ts'

export interface OAuthPagesOptions extends PagesOptions {
  readonly accounts: Accounts
  /** Limits how many client documents are fetched for one client address. */
  readonly clientDocuments: AttemptLimiter
}

/** `/oauth/authorize`: a program sends its user here to sign in and to decide whether it may act for the account. */
export const oauthPages: FastifyPluginAsync<OAuthPagesOptions> = async (app, options) => {
  const { client, frame, accounts, clientDocuments } = options
  const { oauth } = accounts
  askToSignIn(app, options)

  /** The authorization request; undefined after a page has shown its fault. */
  async function read(request: FastifyRequest, reply: FastifyReply, query: string) {
    const name = siteOf(request)
    try {
      const asked = await oauth.read(parse(query), { name, admit: () => clientDocuments.take(name) })
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
    const [, query = ''] = /\?(.*)$/s.exec(request.url) ?? []
    const asked = await read(request, reply, query)
    if (asked === undefined) return reply
    const { email } = await client.read<AccountAnswer>(request, '/api/account')
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
      if (!isServiceError(error, 'limit_reached')) throw error
      return sendPage(reply.code(409), frame(), brokenRequestPage(`${error.message} ${error.nextStep}`))
    }
  })
}

/** Asks the owner of an account whether a program may act for it. @param query of the request, sent back with the answer */
export function consentPage(asked: AuthorizationRequest, email: string, query: string): Page {
  const { client, redirectUri, scopes } = asked
  const site = URL.parse(client.clientId)?.host
  const sentTo = ['You are sent on to', html`<strong>${new URL(redirectUri).host}</strong>`] as const
  const body = html`<h1>Let “${client.name}” act for you?</h1>
<p class="lead">It calls itself so; ${site === undefined ? 'nobody has checked it, so look at where you are sent on to.' : 'what it is known by is its address.'} You are signed in as ${email}.</p>
${facts(site === undefined ? [sentTo] : [['Known by', html`<code>${client.clientId}</code>`], ['Its site', html`<strong>${site}</strong>`], sentTo])}
${isLoopback(redirectUri) && note(html`<p><strong>You are sent on to a program on your own computer.</strong> Any program there could have opened this page in the name of “${client.name}”: go on only if you started it yourself a moment ago.</p>`, 'warn')}
<p>It may:</p>
<ul>${scopes.map((scope) => html`<li>${SCOPE_MEANINGS[scope]}</li>`)}</ul>
<p>It sees neither your e-mail address nor your keys, and cannot change your account. You end it on the <a href="/account#apps">account page</a>.</p>
<form method="post" action="/oauth/authorize" class="row">
<input type="hidden" name="request" value="${query}">
<button type="submit" class="main" name="decision" value="allow">Let it in</button>
<button type="submit" name="decision" value="deny">Refuse</button>
</form>`
  return { title: 'Let a program in', at: '/account', isPrivate: true, body }
}

/** The form leads here and then to the program; browsers apply the policy to the second step as well. */
function consentPolicy(redirectUri: string): string {
  const { origin, hostname } = new URL(redirectUri)
  // A policy cannot name an IPv6 address.
  const target = hostname.startsWith('[') ? 'http:' : origin
  return PAGE_POLICY.replace("form-action 'self'", (own) => `${own} ${target}`)
}

function refusalPage(description: string | null, goOn: Html): Page {
  const fault = note(html`<p><strong>${description}</strong></p>`, 'bad')
  const body = html`<h1>The program asked for something that cannot be done</h1>\n${fault}\n<p>${goOn}</p>`
  return { title: 'This cannot go on', at: '/account', isPrivate: true, body }
}

/** Sends nobody on, since the target is unknown. */
export const brokenRequestPage = (description: string): Page =>
  refusalPage(
    description,
    html`You did nothing wrong, and nothing was let in. Go back to the program and tell its maker.`,
  )

/** The error is for the program. The visitor decides to go there, because anybody can name a target. */
export function backPage(location: string): Page {
  const { host, searchParams } = new URL(location)
  const goOn = html`Nothing was let in. <a href="${location}" rel="noreferrer">Go back to ${host} and tell it</a>, if you know it.`
  return refusalPage(searchParams.get('error_description'), goOn)
}
