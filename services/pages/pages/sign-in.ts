import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { BegunSessionAnswer } from '../../../contracts/answers/account.ts'
import { PLAN_LIMITS } from '../../../contracts/domain/plans.ts'
import { DAY_MS } from '../../../contracts/domain/timeframes.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { isSessionOver } from '../api-client.ts'
import { address, note, whole } from '../components.ts'
import { EMPTY_FORM, type FormState, input, named, refusalNote, textOf } from '../forms.ts'
import { type Html, html } from '../html.ts'
import type { Page, PageFrame } from '../layout.ts'
import { sendPage } from '../send-page.ts'
import {
  beginSession,
  endSession,
  leaveNote,
  noteOf,
  removeNote,
  requireOwnForm,
  sessionOf,
} from '../session.ts'
import type { PagesOptions } from './series.ts'

export type Form = Readonly<Record<string, string | readonly string[] | undefined>>

/** The fields of a form. @throws ServiceError `cross_site` for one that is not this service's */
export function ownForm(request: FastifyRequest, publicUrl: string): Form {
  requireOwnForm(request, publicUrl)
  return typeof request.body === 'object' && request.body !== null ? (request.body as Form) : {}
}

/** Asks to sign in, and says why where there was a session. */
export function sendSignIn(
  request: FastifyRequest,
  reply: FastifyReply,
  { frame }: Pick<PagesOptions, 'frame'>,
  state: SignInForm = EMPTY_FORM,
): FastifyReply {
  const isOver = sessionOf(request) !== undefined
  if (isOver) endSession(reply)
  const notice = isOver
    ? `Your session has ended: you signed out everywhere, or it was ${LIMITS.sessionMs / DAY_MS} days old. Sign in again.`
    : state.notice
  return sendPage(
    reply.code(state.refusal?.status ?? 200),
    frame(),
    signInPage({ ...state, notice }, frame()),
  )
}

/** Has a person whose session is over sign in, and then go on to the page that they wanted. @param about that page */
export function askToSignIn(app: FastifyInstance, options: Pick<PagesOptions, 'frame'>, about?: Html): void {
  app.setErrorHandler((error, request, reply) => {
    if (!isSessionOver(error)) throw error
    const typed = request.method === 'GET' ? { return_to: returnPath({ return_to: request.url }) } : {}
    return sendSignIn(request, reply, options, { typed, about })
  })
}

/** The page to return to after a sign-in: always a page of this service. */
export function returnPath(form: Form): string | undefined {
  const path = textOf(form, 'return_to')
  return /^\/(?:oauth\/authorize\?|webhooks(?:[/?]|$))[!-~]*$/.test(path) &&
    path.length <= LIMITS.requestUrlCharacters
    ? path
    : undefined
}

/** The sign-in that waits for its code. */
const codeNote = z.object({ email: z.string(), signInId: z.string(), onward: z.string() })

/** The two steps of a sign-in: an address, then the code that was sent there. */
export function signInForms(app: FastifyInstance, options: PagesOptions): void {
  const { client, frame } = options
  app.post('/account/sign-in', async (request, reply) => {
    const form = ownForm(request, frame().publicUrl)
    const email = textOf(form, 'email').trim()
    const typed = { email, return_to: returnPath(form) }
    const asked = await client.ask<{ sign_in_id: string }>(request, {
      method: 'POST',
      path: '/api/sign-in',
      body: { email },
    })
    if (!asked.isOk) return sendSignIn(request, reply, options, { typed, refusal: asked.refusal })
    const left = { email, signInId: asked.body.sign_in_id, onward: typed.return_to ?? '' }
    return leaveNote(reply, left, LIMITS.signInCodeMs).redirect('/account/code', 303)
  })

  app.get('/account/code', async (request, reply) => {
    const left = noteOf(request, codeNote)
    if (left === undefined) return reply.redirect('/account', 303)
    const { email, signInId, onward } = left
    return sendPage(reply, frame(), codePage({ typed: { return_to: onward }, email, signInId }, frame()))
  })

  // The addresses of forms, opened from history.
  for (const path of ['/account/sign-in', '/account/confirm'])
    app.get(path, async (_request, reply) => reply.redirect('/account', 303))

  app.post('/account/confirm', async (request, reply) => {
    const form = ownForm(request, frame().publicUrl)
    const given = (name: string) => textOf(form, name).trim()
    const [email, code, signInId] = [given('email'), given('code'), given('sign_in_id')]
    const body = { email, code, ...(signInId !== '' && { sign_in_id: signInId }) }
    const returning = returnPath(form)
    const confirmed = await client.ask<BegunSessionAnswer>(request, {
      method: 'POST',
      path: '/api/sign-in/session',
      body,
    })
    if (confirmed.isOk) {
      const onward = address('/account', { signed_in: 1, return_to: returning })
      return beginSession(removeNote(reply), confirmed.body.session).redirect(onward, 303)
    }
    const refusal = named(confirmed.refusal, 'sign_in_refused', 'code')
    const typed = { code, return_to: returning }
    return sendPage(
      reply.code(refusal.status),
      frame(),
      codePage({ typed, refusal, email, signInId }, frame()),
    )
  })
}

/** The words about codes where no mail server is configured. */
const NO_MAIL = 'No mail server is configured here: the code stands in the terminal of the service.'

interface SignInForm extends FormState {
  /** Why one is here, where it was not one's own doing. */
  readonly notice?: string | undefined
  /** About the place that one wanted to go to. */
  readonly about?: Html | undefined
}

/** Asks for an address, to which a code is sent. */
export function signInPage(state: SignInForm, { hasNoMail }: Pick<PageFrame, 'hasNoMail'>): Page {
  const { notice, about } = state
  const sent = hasNoMail === true ? NO_MAIL : 'A code is sent to your address.'
  return {
    title: 'Sign in',
    at: about === undefined ? '/account' : '/webhooks',
    body: html`${about ?? html`<h1>Sign in</h1>`}${about && html`<h2>Sign in</h2>`}
<p class="lead">${sent} There is no password. Who signs in for the first time has an account from then on: ${whole(PLAN_LIMITS.free.callsPerWindow)} calls a month for nothing.</p>
${notice !== undefined && note(html`<p>${notice}</p>`, 'warn')}
${refusalNote(state.refusal)}
<form method="post" action="/account/sign-in" class="stack">
${returnField(state)}${input(state, 'email', { label: 'E-mail address', type: 'email', isRequired: true, autocomplete: 'email', maxLength: LIMITS.emailCharacters, hint: html`It is sealed with a key of your account; erasing the account forgets it. <a href="/docs/privacy">Privacy</a>` })}
<div><button type="submit" class="main">${hasNoMail === true ? 'Make the code' : 'Send the code'}</button></div>
</form>`,
  }
}

/** The page that follows a sign-in, carried from form to form. */
const returnField = ({ typed }: FormState): Html | false => {
  const { return_to: path } = typed
  return (
    typeof path === 'string' && path !== '' && html`<input type="hidden" name="return_to" value="${path}">`
  )
}

interface CodeForm extends FormState {
  readonly email: string
  readonly signInId: string
}

/** Asks for the code. */
function codePage(state: CodeForm, { hasNoMail }: Pick<PageFrame, 'hasNoMail'>): Page {
  const sent = hasNoMail === true ? NO_MAIL : `If a code can be sent to ${state.email}, it is on its way.`
  return {
    title: 'Enter the code',
    at: '/account',
    isPrivate: true,
    body: html`<h1>Enter the code</h1>
<p class="lead">${sent} It is good for ${LIMITS.signInCodeMs / 60_000} minutes.</p>
${refusalNote(state.refusal)}
<form method="post" action="/account/confirm" class="stack">
<input type="hidden" name="email" value="${state.email}"><input type="hidden" name="sign_in_id" value="${state.signInId}">${returnField(state)}
${input(state, 'code', { label: hasNoMail === true ? 'Code' : 'Code of the mail', isRequired: true, autocomplete: 'one-time-code', maxLength: 64, isCode: true })}
<div><button type="submit" class="main">Sign in</button></div>
</form>
<p><a href="/account">Use another address, or ask for another code</a></p>`,
  }
}
