import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { JsonObject } from '../../../contracts/json.ts'
import type { SubscriptionAnswer } from '../../../contracts/webhook-answers.ts'
import { subscriptionParams } from '../../http/routes/webhook-requests.ts'
import { EMPTY_FORM, type FormState, textOf } from '../pages/forms.ts'
import type { Page } from '../pages/layout.ts'
import type { Refusal } from '../pages/own-client.ts'
import { address } from '../pages/parts.ts'
import { sendPage, sendText } from '../pages/send-page.ts'
import { type DryRun, dryRunPart, filterOf, newWebhookPage, sendingOf } from '../pages/webhook-form.ts'
import {
  type Attempts,
  aboutWebhooks,
  type Delivery,
  deliveryPage,
  type Missed,
  missedPage,
  type TestAnswer,
  type WebhookLook,
  type Webhooks,
  webhookPage,
  webhookPath,
  webhooksPage,
} from '../pages/webhook-pages.ts'
import { askToSignIn, ownForm } from './account-pages.ts'
import type { PagesOptions } from './series-pages.ts'

const text = z.string().max(256).optional()
const ROWS = 25
const DRY_RUN_ROWS = 10
const params = { params: subscriptionParams }

const sought = { result: text, exchange: text, coin: text, timeframe: text }
const look = z.strictObject({ after: text, ...sought })
const onward = z.strictObject({ after: text })
const listed = onward.extend({ status: text })

/** The routes of a plugin and what they share. */
interface Edge extends ReturnType<typeof createEdge> {
  readonly app: Parameters<FastifyPluginAsyncZod<PagesOptions>>[0]
}

function createEdge({ client, frame }: PagesOptions) {
  const formOf = (request: FastifyRequest) => ownForm(request, frame().publicUrl)
  const send = (reply: FastifyReply, page: Page) => sendPage(reply, frame(), page)

  const dryRunOf = (request: FastifyRequest, typed: FormState['typed']) =>
    client.ask<DryRun>(request, {
      method: 'POST',
      path: '/api/webhooks/dry-run',
      body: { ...filterOf(typed), limit: DRY_RUN_ROWS },
    })

  async function sendWebhook(
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    more: Partial<Pick<WebhookLook, 'secret' | 'tested' | 'state'>> & z.infer<typeof look> = {},
  ): Promise<FastifyReply> {
    const { after, state = EMPTY_FORM, secret, tested } = more
    const fields = Object.keys(sought) as (keyof typeof sought)[]
    const asked = Object.fromEntries(fields.map((name) => [name, more[name]?.trim() || undefined]))
    const path = `/api${webhookPath(id)}`
    const webhook = await client.must<SubscriptionAnswer>(request, { path })
    const attempts = await client.must<Attempts>(request, {
      path: address(`${path}/deliveries`, { after, ...asked, limit: ROWS }),
    })
    if (state.refusal !== undefined) reply.code(state.refusal.status)
    return send(reply, webhookPage({ webhook, attempts, after, sought: asked, secret, tested, state }))
  }

  return { client, formOf, send, dryRunOf, sendWebhook }
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
    return send(reply, newWebhookPage(EMPTY_FORM, undefined))
  })

  app.get('/webhooks/:id', { schema: { ...params, querystring: look } }, (request, reply) =>
    sendWebhook(request, reply, request.params.id, request.query),
  )

  const ofDelivery = { params: subscriptionParams.extend({ delivery_id: z.uuid().toLowerCase() }) }
  app.get('/webhooks/:id/deliveries/:delivery_id', { schema: ofDelivery }, async (request, reply) => {
    const { id, delivery_id: delivery } = request.params
    const path = `/api${webhookPath(id, 'deliveries', delivery)}`
    return send(reply, deliveryPage(id, await client.must<Delivery>(request, { path })))
  })

  app.get('/webhooks/:id/missed', { schema: { ...params, querystring: onward } }, async (request, reply) => {
    const { id } = request.params
    const after = request.query.after || '0'
    const path = address(`/api${webhookPath(id)}/events`, { after, limit: ROWS })
    return send(reply, missedPage(id, await client.must<Missed>(request, { path }), after))
  })
}

function makingPages({ app, client, formOf, send, dryRunOf, sendWebhook }: Edge): void {
  app.post('/webhooks/dry-run', async (request, reply) => {
    const typed = formOf(request)
    const run = await dryRunOf(request, typed)
    const [found, refusal] = run.isOk ? [run.body, undefined] : [undefined, run.refusal]
    // A script asks for the part alone; it says that it is no navigation.
    if (request.headers['sec-fetch-dest'] !== 'empty') {
      return send(reply, newWebhookPage({ typed }, found, refusal))
    }
    return sendText(reply, String(dryRunPart(found, refusal)))
  })

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
      return sendWebhook(request, reply.code(201), made.body.id, { secret })
    }
    const run = await dryRunOf(request, typed)
    const refusal = named(made.refusal, 'url_refused', 'url')
    const page = newWebhookPage({ typed, refusal }, run.isOk ? run.body : undefined)
    return send(reply.code(refusal.status), page)
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
      readonly shown?: (answer: never) => Partial<Pick<WebhookLook, 'secret' | 'tested'>>
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
  test: { to: () => '/test', shown: (tested: TestAnswer) => ({ tested }) },
  replay: {
    to: () => '/replay',
    body: (form) => ({
      from: instantOf(textOf(form, 'from')),
      only: textOf(form, 'only') === 'all' ? 'all' : 'failed',
    }),
  },
  resend: {
    to: () => '/replay',
    body(form) {
      const sequence = Number(textOf(form, 'sequence'))
      return { from_sequence: sequence, to_sequence: sequence, only: 'all' }
    },
  },
  'cancel-replay': { to: (form) => `/replays/${encodeURIComponent(textOf(form, 'replay_id'))}/cancel` },
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
      if (shown !== undefined) return sendWebhook(request, reply, id, shown(answer.body))
      if (name === 'delete') return reply.redirect('/webhooks', 303)
      return reply.redirect(`${webhookPath(id)}${path.includes('/replay') ? '#replay' : ''}`, 303)
    })
  }
}

/** An instant of a form, which is in UTC. What is none is left to the interface to refuse. */
const instantOf = (typed: string): string =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?$/.test(typed)
    ? `${typed.length === 16 ? `${typed}:00` : typed}Z`
    : typed

/** A refusal that is about one field says so of it. */
const named = (refusal: Refusal, code: string, field: string): Refusal =>
  refusal.code === code ? { ...refusal, details: { fields: [{ field, problem: refusal.message }] } } : refusal
