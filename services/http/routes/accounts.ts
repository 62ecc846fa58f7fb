import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  accountAnswerSchema,
  begunSessionAnswerSchema,
  codeSentAnswerSchema,
  issuedKeyAnswerSchema,
  keysAnswerSchema,
  sessionsAnswerSchema,
  signInAnswerSchema,
} from '../../../contracts/account-answers.ts'
import { assert } from '../../../contracts/assert.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { rowsParameter } from '../../../contracts/parameters.ts'
import type { QuotaBlock } from '../../../contracts/service-block.ts'
import type { Accounts, AttemptLimiter, Payer } from '../../accounts/index.ts'
import { toAccountAnswer, toIssuedKey, toKeyRow, toSessionRow, toSignInAnswer } from '../account-answers.ts'
import { addressSite } from '../client-address.ts'
import { keyedRoutes, nothing, type On } from '../keyed-routes.ts'
import { noBody, operationsOf } from '../openapi/operation.ts'

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

interface EdgeOptions {
  /** Client address of a request. */
  readonly addressOf: (request: FastifyRequest) => string
}

/** Text for people to read: one line, no control characters. */
export const labelSchema = z
  .string()
  .trim()
  .max(LIMITS.keyLabelCharacters)
  .regex(/^[^\p{Cc}\p{Cs}\u2028\u2029]*$/u, 'must be one line of text')

const email = z.string().max(LIMITS.emailCharacters).describe('An e-mail address')
const code = z.string().max(64)

const codeSchema = z.strictObject({
  email,
  code: code.describe('The code of the mail, in either case; where there are several mails, any of them'),
  sign_in_id: z
    .uuid()
    .toLowerCase()
    .optional()
    .describe('The `sign_in_id` of the answer; with it only the code of that request is taken'),
})

const confirmSchema = codeSchema.extend({
  label: labelSchema.default('sign-in').describe('What to call the key'),
  revoke: z
    .uuid()
    .toLowerCase()
    .optional()
    .describe('Id of a key to revoke, where the account has as many as it may have'),
})

const sessionParams = z.strictObject({
  id: z.uuid().toLowerCase().describe('The `session_id` of a row of `GET /api/sessions`'),
})
const keyParams = z.strictObject({
  id: z.uuid().toLowerCase().describe('The id of the key, which is not the key'),
})
const keysQuery = z.strictObject({
  after: z.uuid().toLowerCase().optional().describe('Keys after this one: the `next` of the answer before'),
  limit: rowsParameter(LIMITS.accountRows, LIMITS.accountRows, 'Keys'),
})

const open = operationsOf({ tag: 'account' })
const own = operationsOf({ tag: 'account', key: 'required', errors: ['store_unavailable'] })

/** The same whether or not there is an account, and whether or not there is a further mail. */
const CODE_SENT = {
  message: `If a code can be sent to this address, it is on its way; a mailbox gets ${LIMITS.signInsPerMailbox} within ${LIMITS.signInMailboxMs / 60_000} minutes at most, and every one of the last ${LIMITS.signInCodeMs / 60_000} minutes is good. Give one to POST /api/sign-in/confirm.`,
  expires_in_s: LIMITS.signInCodeMs / 1_000,
}

/**
 * Sign-in by e-mail: `POST /api/sign-in`, then `/confirm` for a key or `/session` for a browser; and the account of a
 * key: `/api/account`, `/api/keys`, `/api/sessions`. Nothing tells whether an address has an account, and no key is
 * shown twice.
 */
export const accountRoutes: FastifyPluginAsyncZod<AccountRoutesOptions & EdgeOptions> = async (
  app,
  options,
) => {
  const on = keyedRoutes(app, options.accounts.identify)
  signInRoutes(app, options)
  sessionRoutes(on, options)
  ownAccountRoutes(on, options)
  keyRoutes(on, options)
}

function signInRoutes(
  app: Parameters<typeof accountRoutes>[0],
  { accounts, signInRequests, signInTries, addressOf }: AccountRoutesOptions & EdgeOptions,
): void {
  const originOf = ({ id }: FastifyRequest, actor = 'sign-in') => ({ correlationId: id, actor })
  const takeAttempt = (limiter: AttemptLimiter) => (request: FastifyRequest) =>
    limiter.take(addressSite(addressOf(request)))

  const signIn = {
    operation: open('signIn', 'Have a code sent to an e-mail address', {
      description:
        'The answer is the same whether or not there is an account. A code is good for half an hour, and several are beside one another.',
      errors: ['store_unavailable'],
      bodyExample: { email: 'you@example.com' },
    }),
    body: z.strictObject({ email }),
    response: { 202: codeSentAnswerSchema },
  }
  const asking = { schema: signIn, preHandler: takeAttempt(signInRequests) }
  app.post('/api/sign-in', asking, async (request, reply) => {
    const client = addressSite(addressOf(request))
    const id = await accounts.requestSignIn({ email: request.body.email, client }, originOf(request))
    return reply.code(202).send({ ...CODE_SENT, sign_in_id: id })
  })

  const bodyExample = { email: 'you@example.com', code: '7K2M9-QX4RT' }
  const confirm = {
    operation: open('confirmSignIn', 'Give the code, and receive an API key', {
      description:
        'Opens the account where there is none yet. The key is shown once, in this answer; only its hash is kept.',
      errors: ['sign_in_refused', 'too_many_keys', 'store_unavailable'],
      bodyExample,
    }),
    body: confirmSchema,
    response: { 200: signInAnswerSchema },
  }
  const confirming = { schema: confirm, preHandler: takeAttempt(signInTries) }
  app.post('/api/sign-in/confirm', confirming, async (request) => {
    const { sign_in_id: signInId, ...given } = request.body
    const origin = originOf(request, 'sign-in of a program')
    return toSignInAnswer(await accounts.confirmSignIn({ ...given, signInId }, origin))
  })

  const begin = {
    operation: open('beginSession', 'Give the code, and begin a session of the pages', {
      description:
        'The account page asks this for a browser. The secret is for its cookie; as an API key it is refused. It is shown once, in this answer.',
      errors: ['sign_in_refused', 'store_unavailable'],
      bodyExample,
    }),
    body: codeSchema,
    response: { 200: begunSessionAnswerSchema },
  }
  const beginning = { schema: begin, preHandler: takeAttempt(signInTries) }
  app.post('/api/sign-in/session', beginning, async (request) => {
    const { sign_in_id: signInId, ...given } = request.body
    const begun = await accounts.beginSession({ ...given, signInId }, originOf(request))
    return { session: begun.secret, session_id: begun.sessionId, account_id: begun.accountId }
  })
}

function sessionRoutes(on: On, { accounts }: AccountRoutesOptions): void {
  on(
    'GET /api/sessions',
    own('sessions', 'Browsers that are signed in to the account', {
      errors: ['session_elsewhere', 'account_unknown'],
    }),
    { response: { 200: sessionsAnswerSchema } },
    async ({ accountId, keyId }) => {
      const sessions = await ofOwn(accounts.sessions(accountId))
      return { sessions: sessions.map((session) => toSessionRow(session, keyId)) }
    },
  )
  on(
    'DELETE /api/sessions',
    own('endOtherSessions', 'End all sessions; where a session asks, all others', {
      errors: ['session_elsewhere', 'account_unknown'],
      answers: noBody('They apply no more'),
    }),
    {},
    async ({ accountId, keyId, origin }) => nothing(accounts.endOtherSessions(accountId, keyId, origin)),
  )
  on(
    'DELETE /api/sessions/:id',
    own('endSession', 'End a session', {
      errors: ['session_elsewhere', 'not_found', 'account_unknown'],
      answers: noBody('It applies no more'),
    }),
    { params: sessionParams },
    async ({ accountId, origin }, { id }) => nothing(accounts.endSession(accountId, id, origin)),
  )
}

function ownAccountRoutes(on: On, { accounts, quotaOf }: AccountRoutesOptions): void {
  on(
    'GET /api/account',
    own('account', 'The account of the key'),
    { response: { 200: accountAnswerSchema } },
    async ({ accountId }) => {
      const view = await ofOwn(accounts.show(accountId))
      return toAccountAnswer(view, await quotaOf(view.payer))
    },
  )
  on(
    'DELETE /api/account',
    own('eraseAccount', 'Erase the account, its keys and the e-mail address', {
      errors: ['account_unknown'],
      answers: noBody('It is erased'),
    }),
    {},
    async ({ accountId, origin }) => nothing(accounts.erase(accountId, origin)),
  )
}

function keyRoutes(on: On, { accounts }: AccountRoutesOptions): void {
  on(
    'GET /api/keys',
    own('keys', 'The keys of the account, without their text'),
    { querystring: keysQuery, response: { 200: keysAnswerSchema } },
    async ({ accountId }, { after, limit }) => {
      const { keys } = await ofOwn(accounts.show(accountId))
      const first = after === undefined ? 0 : keys.findIndex(({ keyId }) => keyId === after) + 1
      const page = keys.slice(first, first + limit)
      const next = first + limit < keys.length ? (page.at(-1)?.keyId ?? null) : null
      assert(next !== after || next === null, 'a cursor of keys advances', next ?? '')
      return { keys: page.map(toKeyRow), next }
    },
  )
  on(
    'POST /api/keys',
    own('issueKey', 'Issue a further key; it is shown once', {
      errors: ['too_many_keys', 'account_unknown'],
      bodyExample: { label: 'my bot' },
    }),
    {
      body: z.strictObject({ label: labelSchema.default('').describe('What to call the key') }),
      response: { 201: issuedKeyAnswerSchema },
    },
    async ({ accountId, origin }, { label }) => {
      const issued = await accounts.issueKey(accountId, label, origin)
      return { ...toIssuedKey(issued), account_id: accountId }
    },
  )
  on(
    'DELETE /api/keys/:id',
    own('revokeKey', 'Revoke a key', {
      errors: ['not_found', 'account_unknown'],
      answers: noBody('It applies no more'),
    }),
    { params: keyParams },
    async ({ accountId, origin }, { id }) => nothing(accounts.revokeKey(accountId, id, origin)),
  )
}

/** An account that is erased while its owner looks at it has no keys any more. */
async function ofOwn<Answer>(looking: Promise<Answer>): Promise<Answer> {
  try {
    return await looking
  } catch (error) {
    throw isServiceError(error, 'account_unknown') ? new ServiceError('key_unknown') : error
  }
}
