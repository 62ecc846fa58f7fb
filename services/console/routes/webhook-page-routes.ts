import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { SubscriptionAnswer } from '../../../contracts/webhook-answers.ts'
import { subscriptionParams } from '../../http/routes/webhook-requests.ts'
import { EMPTY_FORM, type FormState } from '../pages/forms.ts'
import type { Page } from '../pages/layout.ts'
import { type OwnAnswer, type OwnRequest, type Refusal, refusedAs } from '../pages/own-client.ts'
import { address } from '../pages/parts.ts'
import { PAGE_HEADERS, sendPage } from '../pages/send-page.ts'
import { channelOf, type DryRun, dryRunPart, filterOf, newWebhookPage } from '../pages/webhook-form.ts'
import {
  type Attempts,
  type Delivery,
  deliveryPage,
  type Missed,
  missedPage,
  type SignatureCheck,
  signaturePage,
  type WebhookLook,
  type Webhooks,
  webhookPage,
  webhookPath,
  webhooksPage,
} from '../pages/webhook-pages.ts'
import { isSessionOver, ownForm, sendSignIn, textOf } from './account-pages.ts'
import type { PagesOptions } from './series-pages.ts'

const text = z.string().max(256).optional()
const ROWS = 25
const DRY_RUN_ROWS = 10
const params = { params: subscriptionParams }

const look = z.strictObject({ after: text, result: text })

/** Dependencies of the pages of webhooks. */
type Edge = ReturnType<typeof createEdge>

function createEdge(options: PagesOptions) {
  const { client, frame } = options
  const formOf = (request: FastifyRequest) => ownForm(request, frame().publicUrl)
  const send = (reply: FastifyReply, page: Page) => sendPage(reply, frame(), page)

  /** Sends the page of an answer, or asks to sign in. @throws ServiceError what else was refused */
  async function showing<Body>(
    reply: FastifyReply,
    request: FastifyRequest,
    asking: Promise<OwnAnswer<Body>>,
    pageOf: (body: Body) => Page | Promise<Page>,
  ): Promise<FastifyReply> {
    const answer = await asking
    if (answer.isOk) return send(reply, await pageOf(answer.body))
    if (isSessionOver(answer.refusal)) return askToSignIn(request, reply)
    throw refusedAs(answer.refusal)
  }

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
    const result = more.result === '' ? undefined : more.result
    const path = `/api${webhookPath(id)}`
    if (state.refusal !== undefined) reply.code(state.refusal.status)
    return showing(reply, request, client.ask<SubscriptionAnswer>(request, { path }), async (webhook) => {
      const attempts = await client.must<Attempts>(request, {
        path: address(`${path}/deliveries`, { after, result, limit: ROWS }),
      })
      return webhookPage({ webhook, attempts, after, result, secret, tested, state })
    })
  }

  const askToSignIn = (request: FastifyRequest, reply: FastifyReply) => sendSignIn(request, reply, options)

  return { client, formOf, send, showing, dryRunOf, sendWebhook, askToSignIn }
}

type App = Parameters<FastifyPluginAsyncZod<PagesOptions>>[0]

/** `/webhooks`: make them, see how they are doing, what was sent, and do all that the interface does with them. */
export const webhookPageRoutes: FastifyPluginAsyncZod<PagesOptions> = async (app, options) => {
  const edge = createEdge(options)
  listPages(app, edge)
  makingPages(app, edge)
  webhookPages(app, edge)
  signaturePages(app, edge)
  buttons(app, edge)
}

function listPages(app: App, { client, showing }: Edge): void {
  app.get('/webhooks', { schema: { querystring: z.strictObject({ after: text }) } }, (request, reply) =>
    showing(
      reply,
      request,
      client.ask<Webhooks>(request, {
        path: address('/api/webhooks', { status: 'all', limit: ROWS, after: request.query.after }),
      }),
      (body) => webhooksPage(body, request.query.after),
    ),
  )

  app.get('/webhooks/new', (request, reply) =>
    showing(reply, request, client.ask(request, { path: '/api/webhooks?limit=1' }), () =>
      newWebhookPage(EMPTY_FORM, undefined),
    ),
  )
}

function makingPages(app: App, { client, formOf, send, dryRunOf, sendWebhook, askToSignIn }: Edge): void {
  app.post('/webhooks/dry-run', async (request, reply) => {
    const typed = formOf(request)
    const run = await dryRunOf(request, typed)
    const [found, refusal] = run.isOk ? [run.body, undefined] : [undefined, run.refusal]
    // A script asks for the part alone; it says that it is no navigation.
    if (request.headers['sec-fetch-dest'] !== 'empty') {
      return send(reply, newWebhookPage({ typed }, found, refusal))
    }
    return reply
      .headers({ ...PAGE_HEADERS, 'cache-control': 'no-store' })
      .serializer(String)
      .send(String(dryRunPart(found, refusal)))
  })

  app.post('/webhooks', async (request, reply) => {
    const typed = formOf(request)
    const body = { ...channelOf(typed), ...filterOf(typed) }
    const made = await client.ask<SubscriptionAnswer & { secret: string }>(request, {
      method: 'POST',
      path: '/api/webhooks',
      body,
    })
    if (!made.isOk) {
      if (isSessionOver(made.refusal)) return askToSignIn(request, reply)
      const run = await dryRunOf(request, typed)
      const refusal = named(made.refusal, 'url_refused', 'url')
      return send(
        reply.code(refusal.status),
        newWebhookPage({ typed, refusal }, run.isOk ? run.body : undefined),
      )
    }
    const secret = { text: made.body.secret, about: 'Your webhook is made; this is its secret.' }
    return sendWebhook(request, reply.code(201), made.body.id, { secret })
  })
}

function webhookPages(app: App, { client, showing, sendWebhook }: Edge): void {
  app.get('/webhooks/:id', { schema: { ...params, querystring: look } }, (request, reply) =>
    sendWebhook(request, reply, request.params.id, request.query),
  )

  app.get(
    '/webhooks/:id/deliveries/:delivery_id',
    { schema: { params: subscriptionParams.extend({ delivery_id: z.uuid().toLowerCase() }) } },
    (request, reply) => {
      const { id, delivery_id: delivery } = request.params
      const path = `/api${webhookPath(id, 'deliveries', delivery)}`
      return showing(reply, request, client.ask<Delivery>(request, { path }), (body) =>
        deliveryPage(id, body),
      )
    },
  )

  app.get(
    '/webhooks/:id/missed',
    { schema: { ...params, querystring: z.strictObject({ after: text }) } },
    (request, reply) => {
      const { id } = request.params
      const after =
        request.query.after === undefined || request.query.after === '' ? '0' : request.query.after
      const path = address(`/api${webhookPath(id)}/events`, { after, limit: ROWS })
      return showing(reply, request, client.ask<Missed>(request, { path }), (body) =>
        missedPage(id, body, after),
      )
    },
  )
}

function signaturePages(app: App, { client, formOf, send, showing, askToSignIn }: Edge): void {
  app.get('/webhooks/:id/signature', { schema: params }, (request, reply) =>
    showing(reply, request, client.ask(request, { path: `/api${webhookPath(request.params.id)}` }), () =>
      signaturePage(request.params.id),
    ),
  )

  app.post('/webhooks/:id/signature', { schema: params }, async (request, reply) => {
    const typed = formOf(request)
    const { id } = request.params
    const checked = await client.ask<SignatureCheck>(request, {
      method: 'POST',
      path: `/api${webhookPath(id)}/check-signature`,
      body: {
        timestamp: textOf(typed, 'timestamp').trim(),
        signature: textOf(typed, 'signature').trim(),
        // Forms send lines with CR LF; no delivery has either.
        body: textOf(typed, 'body').replaceAll('\r\n', '\n').replace(/\n$/, ''),
      },
    })
    if (checked.isOk) return send(reply, signaturePage(id, { typed }, checked.body))
    if (isSessionOver(checked.refusal)) return askToSignIn(request, reply)
    return send(reply.code(checked.refusal.status), signaturePage(id, { typed, refusal: checked.refusal }))
  })
}

function buttons(app: App, { client, formOf, sendWebhook, askToSignIn }: Edge): void {
  /** The action of a button, and the page that follows. */
  const doing = (
    name: string,
    askedOf: (form: FormState['typed']) => Omit<OwnRequest, 'path'> & { readonly to: string },
    shownOf: (
      answer: OwnAnswer<never> & { isOk: true },
    ) => Partial<Pick<WebhookLook, 'secret' | 'tested'>> | undefined = () => undefined,
  ) =>
    app.post(`/webhooks/:id/${name}`, { schema: params }, async (request, reply) => {
      const typed = formOf(request)
      const { id } = request.params
      const { to, ...asked } = askedOf(typed)
      const answer = await client.ask<never>(request, { ...asked, path: `/api${webhookPath(id)}${to}` })
      if (!answer.isOk) {
        if (isSessionOver(answer.refusal)) return askToSignIn(request, reply)
        return sendWebhook(request, reply, id, { state: { typed, refusal: answer.refusal } })
      }
      const shown = shownOf(answer)
      if (shown !== undefined) return sendWebhook(request, reply, id, shown)
      if (name === 'delete') return reply.redirect('/webhooks', 303)
      return reply.redirect(`${webhookPath(id)}${name.endsWith('replay') ? '#replay' : ''}`, 303)
    })

  doing('pause', () => ({ method: 'POST', to: '/pause' }))
  doing('resume', (form) => ({
    method: 'POST',
    to: '/resume',
    body: { from: textOf(form, 'from') === 'now' ? 'now' : 'cursor' },
  }))
  doing('end-overlap', () => ({ method: 'POST', to: '/end-overlap' }))
  doing('delete', () => ({ method: 'DELETE', to: '' }))
  doing(
    'rotate',
    () => ({ method: 'POST', to: '/rotate-secret' }),
    ({ body }) => ({
      secret: { text: (body as { secret: string }).secret, about: 'This is the new secret.' },
    }),
  )
  doing(
    'test',
    () => ({ method: 'POST', to: '/test' }),
    ({ body }) => ({ tested: body }),
  )
  doing('replay', (form) => ({
    method: 'POST',
    to: '/replay',
    body: { from: instantOf(textOf(form, 'from')), only: textOf(form, 'only') === 'all' ? 'all' : 'failed' },
  }))
  doing('cancel-replay', (form) => ({
    method: 'POST',
    to: `/replays/${encodeURIComponent(textOf(form, 'replay_id'))}/cancel`,
  }))
}

/** An instant of a form, which is in UTC. What is none is left to the interface to refuse. */
const instantOf = (typed: string): string =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?$/.test(typed)
    ? `${typed.length === 16 ? `${typed}:00` : typed}Z`
    : typed

/** A refusal that is about one field says so of it. */
const named = (refusal: Refusal, code: string, field: string): Refusal =>
  refusal.code === code ? { ...refusal, details: { fields: [{ field, problem: refusal.message }] } } : refusal
