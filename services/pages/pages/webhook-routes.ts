import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { SubscriptionAnswer } from '../../../contracts/answers/webhook.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { subscriptionParams } from '../../http/webhook-service.ts'
import { address } from '../components.ts'
import { EMPTY_FORM, named, type Typed, textOf } from '../forms.ts'
import { type Page, sendPage } from '../layout.ts'
import { leaveNote, noteOf, ownForm, removeNote } from '../session.ts'
import type { PagesOptions } from './series.ts'
import { askToSignIn } from './sign-in.ts'
import * as pages from './webhooks.ts'

/** A form sends empty fields. */
const text = z.preprocess((typed) => typed || undefined, z.string().trim().max(256).optional())
const ROWS = 25
const params = { params: subscriptionParams }
/** Characters of an endpoint's answer that a cookie has room for. */
const SHOWN_CHARACTERS = 400
/** A button of a webhook: its request, and the note that the answer leaves. */
interface Button {
  readonly request: `${'POST' | 'DELETE' | 'PATCH'} ${string}`
  readonly body?: (form: Typed) => JsonObject
  readonly shown?: (answer: never) => z.infer<typeof pages.webhookNote>
}

const BUTTONS: Readonly<Record<string, Button>> = {
  pause: { request: 'POST /pause' },
  resume: { request: 'POST /resume', body: (form) => ({ from: textOf(form, 'from') || 'cursor' }) },
  change: {
    request: 'PATCH ',
    body: (form) => ({ ...filled({ url: textOf(form, 'url').trim() || undefined }), ...sendingOf(form) }),
  },
  delete: { request: 'DELETE ' },
  rotate: {
    request: 'POST /rotate-secret',
    shown: ({ secret }: { secret: string }) => secretNote(secret, 'This is the new secret.'),
  },
  test: {
    request: 'POST /test',
    shown: (one: pages.TestAnswer) => ({ tested: { ...one, detail: one.detail.slice(0, SHOWN_CHARACTERS) } }),
  },
  // The form is in UTC. The interface refuses what is no instant.
  recover: {
    request: 'POST /recover',
    body: (form) => ({ since: textOf(form, 'since').replace(/^[-\d]{10}T[:\d]{5,8}$/, toInstant) }),
  },
}

const secretNote = (secret: string, about: string) => ({ secret: { text: secret, about } })
const toInstant = (typed: string): string => `${typed}${typed.length === 16 ? ':00' : ''}Z`

/** `/webhooks`: create webhooks, see their state and deliveries, and do all that the interface offers. */
export const webhookPageRoutes: FastifyPluginAsyncZod<PagesOptions> = async (app, options) => {
  const { client, frame } = options
  const send = (reply: FastifyReply, page: Page) => sendPage(reply, frame(), page)
  askToSignIn(app, options, pages.aboutWebhooks)

  const read = <Body>(request: FastifyRequest, path: string, query: Parameters<typeof address>[1] = {}) =>
    client.must<Body>(request, { path: address(`/api${path}`, query) })

  async function sendWebhook(
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    { state = EMPTY_FORM, after, result, ...shown }: Partial<pages.WebhookView>,
  ): Promise<FastifyReply> {
    const path = pages.webhookPath(id)
    const webhook = await read<SubscriptionAnswer>(request, path)
    const query = { after, result, limit: ROWS }
    const attempts = await read<pages.Attempts>(request, `${path}/deliveries`, query)
    if (state.refusal !== undefined) reply.code(state.refusal.status)
    return send(reply, pages.webhookPage({ webhook, attempts, after, result, state, ...shown }))
  }

  const listed = { querystring: z.strictObject({ after: text, status: text }) }
  app.get('/webhooks', { schema: listed }, async (request, reply) => {
    const { after, status = 'all' } = request.query
    const webhooks = await read<pages.Webhooks>(request, '/webhooks', { status, limit: ROWS, after })
    return send(reply, pages.webhooksPage(webhooks, { after, status }))
  })

  app.get('/webhooks/new', async (request, reply) => {
    await read(request, '/webhooks', { limit: 1 })
    return send(reply, pages.newWebhookPage(EMPTY_FORM))
  })

  const shown = { ...params, querystring: z.strictObject({ after: text, result: text }) }
  app.get('/webhooks/:id', { schema: shown }, (request, reply) => {
    const left = noteOf(request, pages.webhookNote)
    if (left !== undefined) removeNote(reply)
    return sendWebhook(request, reply, request.params.id, { ...request.query, ...left })
  })

  const onward = { ...params, querystring: z.strictObject({ after: text }) }
  app.get('/webhooks/:id/missed', { schema: onward }, async (request, reply) => {
    const { id } = request.params
    const { after = '0' } = request.query
    const missed = await read<pages.Missed>(request, pages.webhookPath(id, 'events'), { after, limit: ROWS })
    return send(reply, pages.missedPage(id, missed, after))
  })

  app.post('/webhooks', async (request, reply) => {
    const typed = ownForm(request, frame().publicUrl)
    const body = { url: textOf(typed, 'url').trim(), ...filterOf(typed), ...sendingOf(typed) }
    const asked = { method: 'POST', path: '/api/webhooks', body } as const
    const made = await client.ask<SubscriptionAnswer & { secret: string }>(request, asked)
    if (made.isOk) {
      const left = secretNote(made.body.secret, 'Your webhook is made; this is its secret.')
      return leaveNote(reply, left).redirect(pages.webhookPath(made.body.id), 303)
    }
    const refusal = named(made.refusal, 'url_refused', 'url')
    return send(reply.code(refusal.status), pages.newWebhookPage({ typed, refusal }))
  })

  for (const [name, { request: asked, body, shown: noted }] of Object.entries(BUTTONS)) {
    const [method, to] = asked.split(' ') as ['POST', string]
    app.post(`/webhooks/:id/${name}`, { schema: params }, async (request, reply) => {
      const typed = ownForm(request, frame().publicUrl)
      const { id } = request.params
      const path = `/api${pages.webhookPath(id)}${to}`
      const answer = await client.ask<never>(request, { method, path, ...(body && { body: body(typed) }) })
      if (!answer.isOk) return sendWebhook(request, reply, id, { state: { typed, refusal: answer.refusal } })
      if (noted !== undefined) leaveNote(reply, noted(answer.body))
      return reply.redirect(name === 'delete' ? '/webhooks' : pages.webhookPath(id), 303)
    })
  }
}

/** The fields that were filled in. */
const filled = (fields: Readonly<Record<string, unknown>>): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => [value ?? []].flat().length > 0),
  ) as JsonObject

/** The values of a field. */
const listOf = (typed: Typed, name: string): readonly string[] =>
  [typed[name] ?? []].flat().filter((one) => one.trim() !== '')

/** The number of a field, or what was typed if it is none. */
function numberOf(typed: Typed, name: string): string | number | undefined {
  const [value] = listOf(typed, name)
  return value !== undefined && /^\s*-?\d+(?:\.\d+)?\s*$/.test(value) ? Number(value) : value
}

/** The filter of a form in the fields of the interface. */
const filterOf = (typed: Typed): JsonObject =>
  filled({
    events: listOf(typed, 'events'),
    timeframes: listOf(typed, 'timeframes'),
    assets: listOf(typed, 'assets').flatMap((one) => one.split(/[\s,]+/).filter(Boolean)),
    only_changes: listOf(typed, 'only_changes').includes('true') || undefined,
    ...Object.fromEntries(['timeframe', 'exchange', 'cadence'].map((name) => [name, listOf(typed, name)[0]])),
    ...Object.fromEntries(NUMBERS.map((name) => [name, numberOf(typed, name)])),
  })
const NUMBERS = ['min_confidence', 'min_strength', 'top_n'] as const

/** Rate and order in the fields of the interface. A form leaves out a box that is not ticked, which means no. */
const sendingOf = (typed: Typed): JsonObject => ({
  max_per_second: numberOf(typed, 'max_per_second') ?? null,
  in_order: listOf(typed, 'sending').includes('in_order'),
})
