import { SCOPE_MEANINGS } from '../../../contracts/domain/oauth.ts'
import { type AuthorizationRequest, isLoopback } from '../../accounts/index.ts'
import { facts, note } from '../components.ts'
import { type Html, html } from '../html.ts'
import { PAGE_POLICY, type Page } from '../layout.ts'

/** Asks the owner of an account whether a program may act for it. @param query of the request, sent back with the answer */
export function consentPage(request: AuthorizationRequest, email: string, query: string): Page {
  const { client, redirectUri, scopes } = request
  const local = isLoopback(redirectUri)
  const site = URL.canParse(client.clientId) ? new URL(client.clientId).host : undefined
  return {
    title: 'Let a program in',
    at: '/account',
    isPrivate: true,
    body: html`<h1>Let “${client.name}” act for you?</h1>
<p class="lead">It calls itself so; ${site === undefined ? 'nobody has checked it, so look at where you are sent on to.' : 'what it is known by is its address.'} You are signed in as ${email}.</p>
${facts([
  ...(site === undefined
    ? []
    : ([
        ['Known by', html`<code>${client.clientId}</code>`],
        ['Its site', html`<strong>${site}</strong>`],
      ] as const)),
  ['You are sent on to', html`<strong>${new URL(redirectUri).host}</strong>`],
])}
${local && note(html`<p><strong>You are sent on to a program on your own computer.</strong> Any program there could have opened this page in the name of “${client.name}”: go on only if you started it yourself a moment ago.</p>`, 'warn')}
<p>It may:</p>
<ul>${scopes.map((scope) => html`<li>${SCOPE_MEANINGS[scope]}</li>`)}</ul>
<p>It sees neither your e-mail address nor your keys, and cannot change your account. You end it on the <a href="/account#apps">account page</a>.</p>
<form method="post" action="/oauth/authorize" class="row">
<input type="hidden" name="request" value="${query}">
<button type="submit" class="main" name="decision" value="allow">Let it in</button>
<button type="submit" name="decision" value="deny">Refuse</button>
</form>`,
  }
}

/** The form leads back here and, from there, to the program; browsers hold the second to the policy as well. */
export function consentPolicy(redirectUri: string): string {
  const { origin, hostname } = new URL(redirectUri)
  // Policies have no way to write an address of IPv6.
  const place = hostname.startsWith('[') ? 'http:' : origin
  return PAGE_POLICY.replace("form-action 'self'", (own) => `${own} ${place}`)
}

const refusalPage = (description: string | null, goOn: Html): Page => ({
  title: 'This cannot go on',
  at: '/account',
  isPrivate: true,
  body: html`<h1>The program asked for something that cannot be done</h1>
${note(html`<p><strong>${description}</strong></p>`, 'bad')}
${goOn}`,
})

/** Nothing is sent on, since it is not known to whom. */
export const brokenRequestPage = (description: string): Page =>
  refusalPage(
    description,
    html`<p>You did nothing wrong, and nothing was let in. Go back to the program and tell its maker.</p>`,
  )

/** The error is for the program; the person decides to go there, since anybody can name an address to be sent to. */
export function backPage(location: string): Page {
  const { host, searchParams } = new URL(location)
  return refusalPage(
    searchParams.get('error_description'),
    html`<p>Nothing was let in. <a href="${location}" rel="noreferrer">Go back to ${host} and tell it</a>, if you know it.</p>`,
  )
}
