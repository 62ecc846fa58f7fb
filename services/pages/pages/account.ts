import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { AccountAnswer, SignInAnswer, UsageAnswer } from '../../../contracts/answers/account.ts'
import type { PaymentsAnswer } from '../../../contracts/answers/payment.ts'
import type { AppRow, AppsAnswer } from '../../../contracts/domain/oauth.ts'
import { DAY_MS } from '../../../contracts/domain/timeframes.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { PageAnswer, PageClient, PageRequest } from '../api-client.ts'
import { copyable, note, type Parameters, pager, table, tag, tiles, time, whole } from '../components.ts'
import {
  action,
  EMPTY_FORM,
  type FormState,
  input,
  type Refusal,
  refusalNote,
  type Typed,
  textOf,
} from '../forms.ts'
import { type Html, html } from '../html.ts'
import { type Page, sendPage } from '../layout.ts'
import { endSession, leaveNote, noteOf, ownForm, sessionOf } from '../session.ts'
import type { PagesOptions } from './series.ts'
import { askToSignIn, returnPath, sendSignIn, signInForms } from './sign-in.ts'
import { endpointsPart, type Webhooks } from './webhooks.ts'

/** Counted calls and payments of one page. */
const ROWS = 20
/** A new key, shown once. */
const keyNote = z.object({ key: z.string(), label: z.string() })

const querySchema = z.object({
  after: z.string().max(256).optional(),
  paid: z.string().max(64).optional(),
  signed_in: z.string().max(1).optional(),
  erased: z.string().max(1).optional(),
  return_to: z.string().max(LIMITS.requestUrlCharacters).optional(),
})

const NOT_ERASED: Refusal = {
  status: 400,
  code: 'invalid_request',
  message: 'Nothing was erased.',
  next_step: 'Type ERASE, in capitals, if you mean it.',
  details: { fields: [{ field: 'confirm', problem: 'is not the word ERASE' }] },
}

const NOT_KEPT =
  'You are signed in, but your browser did not keep the session: it keeps it over HTTPS, and at localhost, only.'
const ERASED =
  'The account is erased: its keys have ended, its webhooks are removed, and its address is forgotten.'

/** `/account`: sign-in by a code, and the account of a session: plan, keys, usage, payments, and how to erase it. */
export const accountPages: FastifyPluginAsyncZod<PagesOptions> = async (app, options) => {
  const { client, frame } = options
  askToSignIn(app, options)
  signInForms(app, options)

  app.get('/account', { schema: { querystring: querySchema } }, async (request, reply) => {
    const { return_to, signed_in, erased, ...query } = request.query
    if (sessionOf(request) === undefined) {
      const notice = erased === undefined ? signed_in && NOT_KEPT : ERASED
      return sendSignIn(request, reply, options, { ...EMPTY_FORM, notice })
    }
    const onward = returnPath({ return_to })
    if (onward !== undefined) return reply.redirect(onward, 303)
    return sendAccount(request, reply, query)
  })

  /** Sends the page of the account that is signed in. */
  async function sendAccount(request: FastifyRequest, reply: FastifyReply, shown: Shown) {
    const account = await readAccount(app, client, request, shown)
    const page = accountPage(account, { ...shown, issued: noteOf(request, keyNote, reply) })
    return sendPage(reply.code(shown.state?.refusal?.status ?? 200), frame(), page)
  }

  for (const [path, { ask, to, done }] of Object.entries(FORMS))
    app.post(`/account/${path}`, async (request, reply) => {
      const typed = ownForm(request, frame().publicUrl)
      const asked = ask(typed)
      const answer = 'path' in asked ? await client.ask(request, asked) : asked
      if (!answer.isOk) return sendAccount(request, reply, { state: { typed, refusal: answer.refusal } })
      done?.(reply, answer.body as never)
      return reply.redirect(to, 303)
    })
}

/** The parts of the page. Payments are undefined where nothing is sold, and webhooks where there are none at all. */
async function readAccount(app: FastifyInstance, client: PageClient, request: FastifyRequest, shown: Shown) {
  const read = <Body>(path: string, query?: Parameters) => client.read<Body>(request, path, query)
  const readIfServed = async <Body>(path: string, query: Parameters) =>
    app.hasRoute({ method: 'GET', url: path }) ? read<Body>(path, query) : undefined
  const [account, usage, { apps }, payments, webhooks] = await Promise.all([
    read<AccountAnswer>('/api/account'),
    read<UsageAnswer>('/api/usage', { after: shown.after, limit: ROWS }),
    read<AppsAnswer>('/api/apps'),
    readIfServed<PaymentsAnswer>('/api/payments', { after: shown.paid, limit: ROWS }),
    readIfServed<Webhooks>('/api/webhooks', { status: 'all', limit: ROWS }),
  ])
  return { account, usage, apps, payments, webhooks }
}
type Account = Awaited<ReturnType<typeof readAccount>>

/** Shown beside the account: pages of usage and of payments, a new key, and a refused form. */
type Shown = Partial<Pick<z.infer<typeof querySchema>, 'after' | 'paid'>> & {
  readonly issued?: z.infer<typeof keyNote> | undefined
  readonly state?: FormState
}

/** A form of the account: its request of the interface, or an answer of its own, and the path that it leads to. */
interface Form {
  readonly ask: (typed: Typed) => PageRequest | PageAnswer<unknown>
  readonly done?: (reply: FastifyReply, answer: never) => FastifyReply
  readonly to: string
}

const remove = (path: string): PageRequest => ({ method: 'DELETE', path })
const endOne = (part: string): Form => ({
  ask: (typed) => remove(`/api/${part}/${encodeURIComponent(textOf(typed, 'id'))}`),
  to: `/account#${part}`,
})

const FORMS: Readonly<Record<string, Form>> = {
  keys: {
    ask: (typed) => ({ method: 'POST', path: '/api/keys', body: { label: textOf(typed, 'label') } }),
    done: (reply, { key, label }: SignInAnswer) => leaveNote(reply, { key, label }),
    to: '/account',
  },
  'keys/revoke': endOne('keys'),
  'apps/end': endOne('apps'),
  'sessions/end': { ask: () => remove('/api/sessions'), done: endSession, to: '/' },
  'sign-out': { ask: () => ({ isOk: true, body: {} }), done: endSession, to: '/' },
  erase: {
    ask: (typed) =>
      textOf(typed, 'confirm').trim() === 'ERASE'
        ? remove('/api/account')
        : { isOk: false, refusal: NOT_ERASED },
    done: endSession,
    to: '/account?erased=1',
  },
}

/** The account: plan, keys, sessions, usage, payments, and how to leave. */
function accountPage({ account, usage, apps, payments, webhooks }: Account, shown: Shown): Page {
  const { issued, state = EMPTY_FORM } = shown
  const { quota, plan, next_plans: later } = account
  const { daily, limit, used } = quota
  const today = daily && `today ${whole(daily.remaining)} of ${whole(daily.limit)}, `
  const body = html`<h1>Account</h1>
<div class="row between"><p class="lead">${account.email ?? 'opened by the operator, without an address'}</p>${action('/account/sign-out', 'Sign out')}</div>
${issued && note(html`<p><strong>Your new key${issued.label !== '' && html` “${issued.label}”`}.</strong> It is shown this once; only its hash is kept.</p>${copyable(issued.key, 'The new key')}`, 'good')}
${refusalNote(state.refusal)}
${tiles([
  [
    'Plan',
    account.tier,
    html`${plan === null ? 'since' : 'until'} ${time(plan?.to ?? account.opened_at, 'day')} UTC`,
  ],
  ['Calls left', whole(quota.remaining), html`${today}in all ${whole(limit - used)} of ${whole(limit)}`],
  ['Used', whole(used), html`of ${whole(limit)}; counted anew ${time(quota.resets_at)} UTC`],
])}
<nav aria-label="On this page"><p class="row"><a href="#keys">Keys</a><a href="#sessions">Sessions</a><a href="#apps">Programs</a>${webhooks && html`<a href="#endpoints">Endpoints</a>`}<a href="#usage">Usage</a>${payments && html`<a href="#payments">Payments</a>`}<a href="#erase">Erase</a></p></nav>
<h2>Plan</h2>
<p>${payments ? html`You buy a plan with a key of this account, and pay in USDC. <a href="/docs/paying">How to pay</a>, <a href="/docs/prices">prices</a>` : html`This service sells no plans by itself; ask its operator. <a href="/docs/prices">Prices</a>`}</p>
${later.map(({ tier, from, to }) => html`<p>Then ${tier}, from ${time(from)} to ${time(to)} UTC.</p>`)}
${keysPart(account, state)}
<h2 id="sessions">Sessions</h2>
<p>A session lasts ${LIMITS.sessionMs / DAY_MS} days in the browser that signed in. A lost device, or one that somebody else uses, is shut out by ending all of them, this one too.</p>
${action('/account/sessions/end', 'Sign out everywhere', { tone: 'bad', question: 'End every session, this one too?' })}
${appsPart(apps)}
${webhooks && endpointsPart(webhooks)}
${usagePart(usage, shown)}
${payments && paymentsPart(payments, shown)}
<h2 id="erase">Erase</h2>
<p>Keys and sessions end, webhooks are removed, and the address is forgotten. Nobody can undo it. What was called stays in the log, of nobody.</p>
<form method="post" action="/account/erase" class="stack">
${input(state, 'confirm', { label: 'Type ERASE to do so', isRequired: true, maxLength: 16, isCode: true })}
<div><button type="submit" class="bad">Erase this account</button></div>
</form>`
  return { title: 'Account', at: '/account', isPrivate: true, body }
}

/** A button that ends one thing. */
const ending = (path: string, text: string, id: string, label: string, effect: string): Html =>
  action(`/account/${path}`, text, { tone: 'bad', fields: { id }, question: `${label}? ${effect}`, label })

function keysPart({ keys }: AccountAnswer, state: FormState): Html {
  const effect = 'Programs that use it are refused from then on.'
  const rows = table(`${keys.length} of at most ${LIMITS.keysPerAccount}`, keys, {
    Key: ({ hint }) => html`<code>${hint}</code>`,
    Name: ({ label }) => label,
    'Made, UTC': ({ created_at }) => time(created_at),
    Revoke: ({ key_id: id, hint }) => ending('keys/revoke', 'Revoke', id, `Revoke the key ${hint}`, effect),
  })
  return html`<h2 id="keys">Keys</h2>
${keys.length === 0 ? html`<p>None yet. Programs that call need one.</p>` : rows}
<form method="post" action="/account/keys" class="row">
${input(state, 'label', { label: 'Name of a new key', maxLength: LIMITS.keyLabelCharacters })}
<button type="submit">Make a key</button>
</form>`
}

function appsPart(apps: readonly AppRow[]): Html {
  const rows = table('Let in with access tokens, not with keys', apps, {
    Program: ({ name }) => (name === '' ? 'without a name' : name),
    'Known by': (one) => html`${one.redirect_host}<br><small><code>${one.client_id}</code></small>`,
    May: ({ scopes }) => scopes.join(', '),
    'Since, UTC': ({ created_at }) => time(created_at),
    End: ({ id, name }) =>
      ending('apps/end', 'End', id, `End access of ${name}`, 'It is refused from then on.'),
  })
  return html`<h2 id="apps">Programs that act for you</h2>
${apps.length === 0 ? html`<p>None. A program that speaks MCP asks you to let it in here when it connects to <code>/mcp?auth=required</code>. <a href="/docs/oauth">How that works</a></p>` : rows}`
}

function usagePart({ days, debits, next }: UsageAnswer, { after, paid }: Shown): Html {
  const tools = [...new Set(days.flatMap((day) => Object.keys(day.tools)))].toSorted()
  const ofTool = (name: string) => (day: (typeof days)[number]) => day.tools[name] ?? 0
  const most = Math.max(1, ...days.map(({ calls }) => calls))
  const bar = (calls: number) =>
    html`<svg width="120" height="12" viewBox="0 0 120 12" aria-hidden="true"><rect class="dot" x="0" y="1" height="10" width="${Math.max(1, Math.round((120 * calls) / most))}"/></svg>`
  const byDay = table('Calls by day and tool', days, {
    Day: ({ day }) => day,
    '#Calls': ({ calls }) => calls,
    Share: ({ calls }) => bar(calls),
    ...Object.fromEntries(tools.map((name) => [`#${name}`, ofTool(name)])),
  })
  const oneByOne = table('Counted calls of the window, newest first', debits, {
    'Counted, UTC': ({ at }) => time(at, 'second'),
    Tool: ({ tool }) => tool,
    Channel: ({ channel }) => channel,
    '#Used': ({ used }) => used,
  })
  return html`<h2 id="usage">Usage</h2>
${days.length === 0 ? html`<p>No call was counted yet. <a href="/#ask">Make the first one</a> with a key from above.</p>` : byDay}
${debits.length > 0 && html`<details${after !== undefined && html` open`}><summary>Calls one by one</summary>${oneByOne}${pager('/account', after, next, { others: { paid }, at: '#usage' })}</details>`}`
}

/** Payments for plans, each with its id: its holder reads the payment at the interface. */
function paymentsPart({ payments, next }: PaymentsAnswer, { after, paid }: Shown): Html {
  const rows = table('For plans of this account, newest first, as they stand on the chain', payments, {
    'Paid, UTC': ({ claimed_at }) => time(claimed_at),
    For: ({ product }) => product.replace('plans/', 'plan '),
    '#USDC': ({ amount_usdc }) => amount_usdc,
    State: ({ state }) => tag(state),
    'What that means': ({ reason, next_step: step }) =>
      html`<span class="wide">${reason !== null && `${reason.replaceAll('_', ' ')}. `}${step}</span>`,
    'Payer, transaction, block': ({ payer, transaction, block }) =>
      html`<code>${payer}</code> ${transaction === null ? '—' : html`<code>${transaction}</code>`} ${block !== null && html`<small>block ${whole(block)}</small>`}`,
    'Given back': ({ refunded_usdc: back }) => (Number(back) === 0 ? '—' : back),
    Id: ({ id }) => html`<a href="/x402/payments/${id}"><code>${id}</code></a>`,
  })
  return html`<h2 id="payments">Payments</h2>
${payments.length === 0 ? html`<p>No plan was paid for yet. Calls that were paid for by themselves are of no account: the holder of the id of such a payment sees it at <code>/x402/payments/{id}</code>.</p>` : rows}
${pager('/account', paid, next, { name: 'paid', others: { after }, at: '#payments' })}`
}
