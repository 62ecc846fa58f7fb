import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { BegunSessionAnswer } from '../../../contracts/answers/account.ts'
import { PLAN_LIMITS } from '../../../contracts/domain/plans.ts'
import { DAY_MS } from '../../../contracts/domain/timeframes.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { isSessionOver } from '../api-client.ts'
import { address, note, whole } from '../components.ts'
import { type FormState, input, named, refusalNote, type Typed, textOf } from '../forms.ts'
import { type Html, html } from '../html.ts'
import { type Page, type PageFrame, sendPage } from '../layout.ts'
import { beginSession, endSession, leaveNote, noteOf, ownForm, removeNote, sessionOf } from '../session.ts'
import type { PagesOptions } from './series.ts'

interface SignInForm extends FormState {
  /** Why the visitor has to sign in. */
  readonly notice?: string | undefined
  /** Describes the page that the visitor opened. */
  readonly about?: Html | undefined
}

const ENDED = `Your session has ended: you signed out everywhere, or it was ${LIMITS.sessionMs / DAY_MS} days old. Sign in again.`

/** Asks to sign in, and says why if there was a session. */
export function sendSignIn(
  request: FastifyRequest,
  reply: FastifyReply,
  { frame }: Pick<PagesOptions, 'frame'>,
  state: SignInForm,
): FastifyReply {
  const isOver = sessionOf(request) !== undefined
  if (isOver) endSession(reply)
  const page = signInPage(isOver ? { ...state, notice: ENDED } : state, frame())
  return sendPage(reply.code(state.refusal?.status ?? 200), frame(), page)
}

/** Asks visitors without a session to sign in, and leads them on to the page they opened. @param about that page */
export function askToSignIn(app: FastifyInstance, options: Pick<PagesOptions, 'frame'>, about?: Html): void {
  app.setErrorHandler((error, request, reply) => {
    if (!isSessionOver(error)) throw error
    const typed = request.method === 'GET' ? { return_to: returnPath({ return_to: request.url }) } : {}
    return sendSignIn(request, reply, options, { typed, about })
  })
}

/** The page to return to after a sign-in: always a page of this service. */
export function returnPath(form: Typed): string | undefined {
  const path = textOf(form, 'return_to')
  const isOwn = /^\/(?:oauth\/authorize\?|webhooks(?:[/?]|$))[!-~]*$/.test(path)
  return isOwn && path.length <= LIMITS.requestUrlCharacters ? path : undefined
}

/** A sign-in that waits for its code. */
const codeNote = z.object({ email: z.string(), sign_in_id: z.string(), return_to: z.string().optional() })

/** The two steps of a sign-in: an address, then the code that was sent there. */
export function signInForms(app: FastifyInstance, options: PagesOptions): void {
  const { client, frame } = options
  app.post('/account/sign-in', async (request, reply) => {
    const form = ownForm(request, frame().publicUrl)
    const typed = { email: textOf(form, 'email').trim(), return_to: returnPath(form) }
    const asked = { method: 'POST', path: '/api/sign-in', body: { email: typed.email } } as const
    const answer = await client.ask<{ sign_in_id: string }>(request, asked)
    if (!answer.isOk) return sendSignIn(request, reply, options, { typed, refusal: answer.refusal })
    const left = { ...typed, sign_in_id: answer.body.sign_in_id }
    return leaveNote(reply, left, LIMITS.signInCodeMs).redirect('/account/code', 303)
  })

  app.get('/account/code', async (request, reply) => {
    const typed = noteOf(request, codeNote)
    if (typed === undefined) return reply.redirect('/account', 303)
    return sendPage(reply, frame(), codePage({ typed }, frame()))
  })

  // The addresses of forms, opened from history.
  for (const path of ['/account/sign-in', '/account/confirm'])
    app.get(path, async (_request, reply) => reply.redirect('/account', 303))

  app.post('/account/confirm', async (request, reply) => {
    const form = ownForm(request, frame().publicUrl)
    const field = (name: string) => textOf(form, name).trim()
    const body = { email: field('email'), code: field('code'), sign_in_id: field('sign_in_id') || undefined }
    const asked = { method: 'POST', path: '/api/sign-in/session', body } as const
    const confirmed = await client.ask<BegunSessionAnswer>(request, asked)
    const typed = { ...body, return_to: returnPath(form) }
    if (confirmed.isOk) {
      const onward = address('/account', { signed_in: 1, return_to: typed.return_to })
      return beginSession(removeNote(reply), confirmed.body.session).redirect(onward, 303)
    }
    const refusal = named(confirmed.refusal, 'sign_in_refused', 'code')
    return sendPage(reply.code(refusal.status), frame(), codePage({ typed, refusal }, frame()))
  })
}

/** Says where codes are if no mail server is configured. */
const NO_MAIL = 'No mail server is configured here: the code stands in the terminal of the service.'

const hidden = ({ typed }: FormState, name: string): Html | false => {
  const value = textOf(typed, name)
  return value !== '' && html`<input type="hidden" name="${name}" value="${value}">`
}

/** Asks for an address, to which a code is sent. */
function signInPage(state: SignInForm, { hasNoMail = false }: PageFrame): Page {
  const { notice, about } = state
  const body = html`${about}${about === undefined ? html`<h1>Sign in</h1>` : html`<h2>Sign in</h2>`}
<p class="lead">${hasNoMail ? NO_MAIL : 'A code is sent to your address.'} There is no password. Who signs in for the first time has an account from then on: ${whole(PLAN_LIMITS.free.callsPerWindow)} calls a month for nothing.</p>
${notice !== undefined && note(html`<p>${notice}</p>`, 'warn')}
${refusalNote(state.refusal)}
<form method="post" action="/account/sign-in" class="stack">
${hidden(state, 'return_to')}${input(state, 'email', { label: 'E-mail address', type: 'email', isRequired: true, autocomplete: 'email', maxLength: LIMITS.emailCharacters, hint: html`It is sealed with a key of your account; erasing the account forgets it. <a href="/docs/privacy">Privacy</a>` })}
<div><button type="submit" class="main">${hasNoMail ? 'Make the code' : 'Send the code'}</button></div>
</form>`
  return { title: 'Sign in', at: about === undefined ? '/account' : '/webhooks', body }
}

/** Asks for the code. */
function codePage(state: FormState, { hasNoMail = false }: PageFrame): Page {
  const sent = `If a code can be sent to ${textOf(state.typed, 'email')}, it is on its way.`
  const body = html`<h1>Enter the code</h1>
<p class="lead">${hasNoMail ? NO_MAIL : sent} It is good for ${LIMITS.signInCodeMs / 60_000} minutes.</p>
${refusalNote(state.refusal)}
<form method="post" action="/account/confirm" class="stack">
${hidden(state, 'email')}${hidden(state, 'sign_in_id')}${hidden(state, 'return_to')}
${input(state, 'code', { label: hasNoMail ? 'Code' : 'Code of the mail', isRequired: true, autocomplete: 'one-time-code', maxLength: 64, isCode: true })}
<div><button type="submit" class="main">Sign in</button></div>
</form>
<p><a href="/account">Use another address, or ask for another code</a></p>`
  return { title: 'Enter the code', at: '/account', isPrivate: true, body }
}
