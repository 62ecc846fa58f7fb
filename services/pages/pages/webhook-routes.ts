import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { JsonObject } from '../../../contracts/json.ts'
import { type SubscriptionAnswer, testAnswerSchema } from '../../../contracts/webhook-answers.ts'
import { subscriptionParams } from '../../http/webhook-service.ts'
import { address } from '../components.ts'
import { EMPTY_FORM, type FormState, named, textOf } from '../forms.ts'
import type { Page } from '../layout.ts'
import { sendPage } from '../send-page.ts'
import { leaveNote, noteOf, removeNote } from '../session.ts'
import type { PagesOptions } from './series.ts'
import { askToSignIn, ownForm } from './sign-in.ts'
import { filterOf, newWebhookPage, sendingOf } from './webhook-form.ts'
import {
  type Attempts,
  aboutWebhooks,
  type Missed,
  missedPage,
  type TestAnswer,
  type Webhooks,
  type WebhookView,
  webhookPage,
  webhookPath,
  webhooksPage,
} from './webhooks.ts'

const text = z.string().max(256).optional()
const ROWS = 25
const params = { params: subscriptionParams }

/** Characters of an endpoint's answer that a cookie has room for. */
const SHOWN_CHARACTERS = 400
/** A secret, or the end of a test, shown once. */
const webhookNote = z.object({
  secret: z.object({ text: z.string(), about: z.string() }).optional(),
  tested: testAnswerSchema.optional(),
})

const view = z.strictObject({ after: text, result: text })
const onward = z.strictObject({ after: text })
const listed = onward.extend({ status: text })

/** The routes of a plugin and what they share. */
interface Edge extends ReturnType<typeof createEdge> {
  readonly app: Parameters<FastifyPluginAsyncZod<PagesOptions>>[0]
}

function createEdge({ client, frame }: PagesOptions) {
  const formOf = (request: FastifyRequest) => ownForm(request, frame().publicUrl)
  const send = (reply: FastifyReply, page: Page) => sendPage(reply, frame(), page)

  async function sendWebhook(
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    more: Partial<Pick<WebhookView, 'secret' | 'tested' | 'state'>> & z.infer<typeof view> = {},
  ): Promise<FastifyReply> {
    const { after, state = EMPTY_FORM, secret, tested } = more
    const result = more.result?.trim() || undefined
    const path = `/api${webhookPath(id)}`
    const webhook = await client.must<SubscriptionAnswer>(request, { path })
    const attempts = await client.must<Attempts>(request, {
      path: address(`${path}/deliveries`, { after, result, limit: ROWS }),
    })
    if (state.refusal !== undefined) reply.code(state.refusal.status)
    return send(reply, webhookPage({ webhook, attempts, after, result, secret, tested, state }))
  }

  return { client, formOf, send, sendWebhook }
}

/** `/webhooks`: make them, see how they are doing, what was sent, and do all that the interface does with them. */
export const webhookPageRoutes: FastifyPluginAsyncZod<PagesOptions> = async (app, options) => {
  askToSignIn(app, options, aboutWebhooks)
  const edge = { app, ...createEdge(options) }
  shownPages(edge)
  makingPages(edge)
  buttons(edge)
}

function shownPages({ app, client, send, sendWebhook }: Edge): void {
  app.get('/webhooks', { schema: { querystring: listed } }, async (request, reply) => {
    const { after, status = 'all' } = request.query
    const path = address('/api/webhooks', { status, limit: ROWS, after })
    return send(reply, webhooksPage(await client.must<Webhooks>(request, { path }), { after, status }))
  })

  app.get('/webhooks/new', async (request, reply) => {
    await client.must(request, { path: '/api/webhooks?limit=1' })
    return send(reply, newWebhookPage(EMPTY_FORM))
  })

  app.get('/webhooks/:id', { schema: { ...params, querystring: view } }, (request, reply) => {
    const note = noteOf(request, webhookNote)
    if (note !== undefined) removeNote(reply)
    return sendWebhook(request, reply, request.params.id, { ...request.query, ...note })
  })

  app.get('/webhooks/:id/missed', { schema: { ...params, querystring: onward } }, async (request, reply) => {
    const { id } = request.params
    const after = request.query.after || '0'
    const path = address(`/api${webhookPath(id)}/events`, { after, limit: ROWS })
    return send(reply, missedPage(id, await client.must<Missed>(request, { path }), after))
  })
}

function makingPages({ app, client, formOf, send }: Edge): void {
  app.post('/webhooks', async (request, reply) => {
    const typed = formOf(request)
    const body = { url: textOf(typed, 'url').trim(), ...filterOf(typed), ...sendingOf(typed) }
    const made = await client.ask<SubscriptionAnswer & { secret: string }>(request, {
      method: 'POST',
      path: '/api/webhooks',
      body,
    })
    if (made.isOk) {
      const secret = { text: made.body.secret, about: 'Your webhook is made; this is its secret.' }
      return leaveNote(reply, { secret }).redirect(webhookPath(made.body.id), 303)
    }
    const refusal = named(made.refusal, 'url_refused', 'url')
    return send(reply.code(refusal.status), newWebhookPage({ typed, refusal }))
  })
}

/** The action of a button, by its last part of the path: the request of it, and the secret or the test to be shown. */
const BUTTONS: Readonly<
  Record<
    string,
    {
      readonly method?: 'DELETE' | 'PATCH'
      readonly to: (form: FormState['typed']) => string
      readonly body?: (form: FormState['typed']) => JsonObject
      readonly shown?: (answer: never) => z.infer<typeof webhookNote>
    }
  >
> = {
  pause: { to: () => '/pause' },
  resume: {
    to: () => '/resume',
    body: (form) => ({ from: textOf(form, 'from') === 'now' ? 'now' : 'cursor' }),
  },
  change: {
    method: 'PATCH',
    to: () => '',
    body(form) {
      const url = textOf(form, 'url').trim()
      return { ...(url !== '' && { url }), ...sendingOf(form) }
    },
  },
  delete: { method: 'DELETE', to: () => '' },
  rotate: {
    to: () => '/rotate-secret',
    shown: (made: { secret: string }) => ({
      secret: { text: made.secret, about: 'This is the new secret.' },
    }),
  },
  test: {
    to: () => '/test',
    shown: ({ detail, ...tested }: TestAnswer) => ({
      tested: { ...tested, detail: detail.slice(0, SHOWN_CHARACTERS) },
    }),
  },
  recover: { to: () => '/recover', body: (form) => ({ since: instantOf(textOf(form, 'since')) }) },
}

function buttons({ app, client, formOf, sendWebhook }: Edge): void {
  for (const [name, { method = 'POST', to, body, shown }] of Object.entries(BUTTONS)) {
    app.post(`/webhooks/:id/${name}`, { schema: params }, async (request, reply) => {
      const typed = formOf(request)
      const { id } = request.params
      const path = `/api${webhookPath(id)}${to(typed)}`
      const answer = await client.ask<never>(request, { method, path, ...(body && { body: body(typed) }) })
      if (!answer.isOk) {
        return sendWebhook(request, reply, id, { state: { typed, refusal: answer.refusal } })
      }
      if (shown !== undefined) leaveNote(reply, shown(answer.body))
      if (name === 'delete') return reply.redirect('/webhooks', 303)
      return reply.redirect(webhookPath(id), 303)
    })
  }
}

/** An instant of a form, which is in UTC. What is none is left to the interface to refuse. */
const instantOf = (typed: string): string =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?$/.test(typed)
    ? `${typed.length === 16 ? `${typed}:00` : typed}Z`
    : typed
