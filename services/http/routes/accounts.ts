import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify'
import { z } from 'zod'
import * as answers from '../../../contracts/answers/account.ts'
import { keyCursor, keyCursorParameter, rowsParameter } from '../../../contracts/answers/parameters.ts'
import { paymentsAnswerSchema } from '../../../contracts/answers/payment.ts'
import type { QuotaBlock } from '../../../contracts/answers/service-block.ts'
import { isoTime } from '../../../contracts/domain/iso-time.ts'
import { type AppRow, appsAnswerSchema } from '../../../contracts/domain/oauth.ts'
import type { Tier } from '../../../contracts/domain/plans.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { PlanPeriod } from '../../../projections/index.ts'
import {
  type Accounts,
  type AppView,
  type AttemptLimiter,
  type IssuedKey,
  type OpenedKey,
  type Payer,
  sentCredential,
} from '../../accounts/index.ts'
import type { PaymentAdmin } from '../../payments/index.ts'
import { keyedRoutes, type On, openRoutes, routesFor } from '../add-routes.ts'
import { siteOf } from '../client-address.ts'
import { KEY, operation } from '../openapi.ts'
import { oauthRoutes } from './oauth.ts'
import { toPaymentAnswer } from './payment-answer.ts'

export interface AccountRoutesOptions {
  readonly accounts: Accounts
  /** Calls that a payer has used and left. */
  readonly quotaOf: (payer: Payer) => Promise<QuotaBlock>
  /** Limits the codes that one client address asks for, and those that it tries. */
  readonly signInRequests: AttemptLimiter
  readonly signInTries: AttemptLimiter
  /** Limits the documents of clients that are fetched for one client address. */
  readonly clientDocuments: AttemptLimiter
}

/** Text for people to read: one line, no control characters. */
export const labelSchema = z
  .string()
  .trim()
  .max(LIMITS.keyLabelCharacters)
  .regex(/^[^\p{Cc}\p{Cs}\u2028\u2029]*$/u, 'must be one line of text')

const uuid = (description: string) => z.uuid().toLowerCase().describe(description)
const email = z.string().max(LIMITS.emailCharacters).describe('An e-mail address')

const codeSchema = z.strictObject({
  email,
  code: z
    .string()
    .max(64)
    .describe('The code of the mail, in either case; after several mails, any of their codes'),
  sign_in_id: uuid('The `sign_in_id` of the answer; only the code of that request is accepted').optional(),
})
const confirmSchema = codeSchema.extend({
  label: labelSchema.default('sign-in').describe('The name of the key'),
  revoke: uuid('A key to revoke if the account has as many as it may have').optional(),
})

/** The same whether or not there is an account, and whether or not there is a further mail. */
const CODE_SENT = {
  message: `If a code can be sent to this address, it is on its way; a mailbox gets ${LIMITS.signInsPerMailbox} within ${LIMITS.signInMailboxMs / 60_000} minutes at most, and every one of the last ${LIMITS.signInCodeMs / 60_000} minutes is good. Give one to POST /api/sign-in/confirm.`,
  expires_in_s: LIMITS.signInCodeMs / 1_000,
}

/** The account parts of a server; those that are left out are not served. */
export interface AccountsPluginOptions {
  /** @throws ServiceError `unauthorized`, `key_unknown`, `key_unverifiable`, `store_unavailable` */
  readonly usage: (
    authorization: string | undefined,
    query: { readonly after?: string | undefined; readonly limit: number },
  ) => Promise<answers.UsageAnswer>
  readonly accounts?: AccountRoutesOptions | undefined
  readonly payments?: { readonly paymentAdmin: Pick<PaymentAdmin, 'listOwn'> } | undefined
}

/** Accounts with their keys and OAuth clients, their usage and their payments for plans. */
export const accountsPlugin: FastifyPluginAsync<AccountsPluginOptions> = async (app, options) => {
  const { accounts: parts, payments, usage } = options
  usageRoute(app, usage)
  if (parts === undefined) return
  await app.register(async (own) => {
    const on = keyedRoutes(own, parts.accounts.identify)
    signInRoutes(own, parts)
    ownAccountRoutes(on, parts)
    keyRoutes(on, parts.accounts)
    if (payments !== undefined) ownPaymentRoutes(on, payments.paymentAdmin)
  })
  await app.register(oauthRoutes, { oauth: parts.accounts.oauth })
}

/** Sign-in by e-mail. No answer shows whether an address has an account, and no key is shown twice. */
function signInRoutes(app: FastifyInstance, options: AccountRoutesOptions): void {
  const { accounts, signInRequests, signInTries } = options
  const on = openRoutes(app)
  const originOf = ({ id }: FastifyRequest, actor = 'sign-in') => ({ correlationId: id, actor })
  const limitedBy = (limiter: AttemptLimiter) => (request: FastifyRequest) => limiter.take(siteOf(request))
  on('POST /api/sign-in', {
    ...operation('account', 'signIn', 'Have a code sent to an e-mail address'),
    description:
      'The answer is the same whether or not there is an account. A code is valid for half an hour; several may be valid at a time.',
    before: limitedBy(signInRequests),
    body: z.strictObject({ email }).meta({ examples: [{ email: 'you@example.com' }] }),
    response: { 202: answers.codeSentAnswerSchema },
    handle: async (request, { email: to }) => {
      const sent = { email: to, client: siteOf(request) }
      return { ...CODE_SENT, sign_in_id: await accounts.requestSignIn(sent, originOf(request)) }
    },
  })
  on('POST /api/sign-in/confirm', {
    ...operation('account', 'confirmSignIn', 'Send the code, and receive an API key'),
    description: 'Opens the account if there is none yet. The key is shown once; only its hash is stored.',
    before: limitedBy(signInTries),
    body: confirmSchema.meta({ examples: [{ email: 'you@example.com', code: '7K2M9-QX4RT' }] }),
    response: { 200: answers.signInAnswerSchema },
    handle: async (request, { sign_in_id: signInId, ...code }) =>
      toSignInAnswer(
        await accounts.confirmSignIn({ ...code, signInId }, originOf(request, 'sign-in of a program')),
      ),
  })
  on('POST /api/sign-in/session', {
    ...operation('account', 'beginSession', 'Send the code, and begin a session of the pages'),
    description:
      'The account page asks this for a browser. The secret is for its cookie and is not an API key. It is shown once.',
    before: limitedBy(signInTries),
    body: codeSchema,
    response: { 200: answers.begunSessionAnswerSchema },
    handle: async (request, { sign_in_id: signInId, ...code }) => {
      const begun = await accounts.beginSession({ ...code, signInId }, originOf(request))
      return { session: begun.secret, account_id: begun.accountId }
    },
  })
}

function ownAccountRoutes(on: On, options: AccountRoutesOptions): void {
  const { accounts } = options
  on('GET /api/account', {
    ...operation('account', 'account', 'The account of the key'),
    response: { 200: answers.accountAnswerSchema },
    handle: ({ accountId }) => accountAnswer(options, accountId).catch(refuseErased),
  })
  on('DELETE /api/account', {
    ...operation('account', 'eraseAccount', 'Erase the account, its keys and the e-mail address'),
    handle: ({ accountId, origin }) => accounts.erase(accountId, origin),
  })
  on('DELETE /api/sessions', {
    ...operation('account', 'endSessions', 'End every session of a browser: sign out everywhere'),
    handle: ({ accountId, origin }) => accounts.endSessions(accountId, origin),
  })
  on('GET /api/apps', {
    ...operation('account', 'apps', 'OAuth clients that act for the account'),
    response: { 200: appsAnswerSchema },
    handle: async ({ accountId }) => ({ apps: (await accounts.oauth.apps(accountId)).map(toAppRow) }),
  })
  on('DELETE /api/apps/:id', {
    ...operation('account', 'endApp', 'Withdraw the access of an OAuth client'),
    params: z.strictObject({ id: uuid('The `id` of a row of `GET /api/apps`') }),
    handle: ({ accountId, origin }, { id }) => accounts.oauth.endApp(accountId, id, origin),
  })
}

function keyRoutes(on: On, accounts: Accounts): void {
  on('GET /api/keys', {
    ...operation('account', 'keys', 'The keys of the account, without their text'),
    response: { 200: answers.keysAnswerSchema },
    handle: async ({ accountId }) => {
      const { keys } = await accounts.show(accountId).catch(refuseErased)
      return { keys: keys.map(toKeyRow) }
    },
  })
  on('POST /api/keys', {
    ...operation('account', 'issueKey', 'Issue a further key; it is shown once'),
    body: z
      .strictObject({ label: labelSchema.default('').describe('The name of the key') })
      .meta({ examples: [{ label: 'my bot' }] }),
    response: { 201: answers.issuedKeyAnswerSchema },
    handle: async ({ accountId, origin }, { label }) => {
      const issued = await accounts.issueKey(accountId, label, origin)
      return { ...toIssuedKey(issued), account_id: accountId }
    },
  })
  on('DELETE /api/keys/:id', {
    ...operation('account', 'revokeKey', 'Revoke a key'),
    params: z.strictObject({ id: uuid('The id of the key, which is not the key') }),
    handle: ({ accountId, origin }, { id }) => accounts.revokeKey(accountId, id, origin),
  })
}

/** The calls of the account of a key: what is left, by day, and one by one. */
function usageRoute(app: FastifyInstance, usage: AccountsPluginOptions['usage']): void {
  const on = routesFor(app, ({ headers }) => sentCredential(headers), { security: KEY })
  on('GET /api/usage', {
    ...operation('account', 'usage', 'The calls left, and the ledger of those that were made'),
    cache: 'no-store',
    querystring: z.strictObject({ after: keyCursorParameter, limit: rowsParameter(LIMITS.usageRows, 50) }),
    response: { 200: answers.usageAnswerSchema },
    handle: async (credential, query) => {
      const answer = await usage(credential, query)
      return { ...answer, next: keyCursor(answer.next) }
    },
  })
}

/** The payments for plans of the account of a key. */
function ownPaymentRoutes(on: On, paymentAdmin: Pick<PaymentAdmin, 'listOwn'>): void {
  on('GET /api/payments', {
    ...operation('account', 'ownPayments', 'Payments for plans of the account, and their settlement'),
    description:
      'Newest first. Paid calls belong to no account: `GET /x402/payments/{id}` shows one to the holder of its id.',
    querystring: z.strictObject({
      after: uuid('Further payments: the `next` of the answer before').optional(),
      limit: rowsParameter(LIMITS.paymentRows, 50),
    }),
    response: { 200: paymentsAnswerSchema },
    handle: async ({ accountId }, { after, limit }) => {
      // One more than is shown tells whether there is a next page.
      const found = paymentAdmin.listOwn(accountId, { after, limit: limit + 1 })
      const payments = found.slice(0, limit)
      const next = found.length > limit ? (payments.at(-1)?.paymentId ?? null) : null
      return { payments: payments.map(toPaymentAnswer), next }
    },
  })
}

/** An account that is erased while its owner looks at it has no keys any more. */
function refuseErased(error: unknown): never {
  throw isServiceError(error, 'account_unknown') ? new ServiceError('key_unknown') : error
}

export const toKeyRow = ({ keyId, hint, label, issuedAt }: OpenedKey): answers.KeyAnswerRow => ({
  key_id: keyId,
  hint,
  label,
  created_at: isoTime(issuedAt),
})

const toAppRow = (view: AppView): AppRow => ({
  id: view.id,
  name: view.name,
  client_id: view.clientId,
  redirect_host: view.redirectHost,
  scopes: [...view.scopes],
  created_at: isoTime(view.createdAt),
  expires_at: isoTime(view.expiresAt),
})

/** A key in the answer that shows it. */
const toIssuedKey = ({ key, keyId, hint, label }: IssuedKey) => ({ key, key_id: keyId, hint, label })

export const toSignInAnswer = (
  issued: IssuedKey & { readonly accountId: string; readonly tier: Tier },
): answers.SignInAnswer => ({ ...toIssuedKey(issued), account_id: issued.accountId, tier: issued.tier })

/** An account with its calls used and left, as of now. */
export async function accountAnswer(
  { accounts, quotaOf }: Pick<AccountRoutesOptions, 'accounts' | 'quotaOf'>,
  id: string,
): Promise<answers.AccountAnswer> {
  const view = await accounts.show(id)
  return {
    account_id: view.accountId,
    email: view.email,
    tier: view.tier,
    opened_at: isoTime(view.openedAt),
    plan: view.plan === undefined ? null : toPeriod(view.plan),
    next_plans: view.nextPlans.map(toPeriod),
    keys: view.keys.map(toKeyRow),
    quota: await quotaOf(view.payer),
  }
}

const toPeriod = ({ tier, from, to }: PlanPeriod) => ({ tier, from: isoTime(from), to: isoTime(to) })
