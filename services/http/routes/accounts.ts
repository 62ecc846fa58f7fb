import type { FastifyReply, FastifyRequest } from 'fastify'
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
import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { QuotaBlock } from '../../../contracts/service-block.ts'
import type { Accounts, AttemptLimiter, Payer } from '../../accounts/index.ts'
import { callerAs } from '../../tool-calls/index.ts'
import { toAccountAnswer, toKeyRow, toSessionRow, toSignInAnswer } from '../account-answers.ts'
import { addressSite } from '../client-address.ts'
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
  after: z.uuid().toLowerCase().optional().describe('Keys behind this one: the `next` of the answer before'),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(LIMITS.accountRows)
    .default(LIMITS.accountRows)
    .describe('Keys at most'),
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
 * key: `/api/account`, `/api/keys`, `/api/sessions`. Nothing tells whether an address has an account, and no key is shown twice.
 *
 * @example curl -H 'Content-Type: application/json' -d '{"email":"you@example.com"}' …/api/sign-in
 */
export const accountRoutes: FastifyPluginAsyncZod<AccountRoutesOptions & EdgeOptions> = async (
  app,
  options,
) => {
  const { accounts, signInRequests, signInTries } = options
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
  })

  const callerOf = async ({ headers, id }: FastifyRequest) =>
    callerAs(await accounts.identify(headers.authorization), id)
  const takeAttempt = async (limiter: AttemptLimiter, request: FastifyRequest, reply: FastifyReply) => {
    try {
      await limiter.take(addressSite(options.addressOf(request)))
    } catch (error) {
      if (isServiceError(error, 'rate_limited')) {
        const { retry_after_s: seconds } = error.details ?? {}
        reply.header('retry-after', typeof seconds === 'number' ? String(seconds) : '1')
      }
      throw error
    }
  }

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
  app.post('/api/sign-in', { schema: signIn }, async (request, reply) => {
    await takeAttempt(signInRequests, request, reply)
    const client = addressSite(options.addressOf(request))
    const origin = { correlationId: request.id, actor: 'sign-in' }
    const id = await accounts.requestSignIn({ email: request.body.email, client }, origin)
    return reply.code(202).send({ ...CODE_SENT, sign_in_id: id })
  })

  const confirm = {
    operation: open('confirmSignIn', 'Give the code, and receive an API key', {
      description:
        'Opens the account where there is none yet. The key is shown once, in this answer; only its hash is kept.',
      errors: ['sign_in_refused', 'too_many_keys', 'store_unavailable'],
      bodyExample: { email: 'you@example.com', code: '7K2M9-QX4RT' },
    }),
    body: confirmSchema,
    response: { 200: signInAnswerSchema },
  }
  app.post('/api/sign-in/confirm', { schema: confirm }, async (request, reply) => {
    await takeAttempt(signInTries, request, reply)
    const origin = { correlationId: request.id, actor: 'sign-in of a program' }
    const { sign_in_id: signInId, ...given } = request.body
    return toSignInAnswer(await accounts.confirmSignIn({ ...given, signInId }, origin))
  })

  const begin = {
    operation: open('beginSession', 'Give the code, and begin a session of the console', {
      description:
        'The account page asks this for a browser. The secret is for its cookie; as an API key it is refused. It is shown once, in this answer.',
      errors: ['sign_in_refused', 'store_unavailable'],
      bodyExample: { email: 'you@example.com', code: '7K2M9-QX4RT' },
    }),
    body: codeSchema,
    response: { 200: begunSessionAnswerSchema },
  }
  app.post('/api/sign-in/session', { schema: begin }, async (request, reply) => {
    await takeAttempt(signInTries, request, reply)
    const origin = { correlationId: request.id, actor: 'sign-in' }
    const { sign_in_id: signInId, ...given } = request.body
    const { secret, sessionId, accountId } = await accounts.beginSession({ ...given, signInId }, origin)
    return { session: secret, session_id: sessionId, account_id: accountId }
  })

  const listSessions = {
    operation: own('sessions', 'Browsers that are signed in to the account', {
      errors: ['session_elsewhere', 'account_unknown'],
    }),
    response: { 200: sessionsAnswerSchema },
  }
  app.get('/api/sessions', { schema: listSessions }, async (request) => {
    const { accountId, keyId } = await callerOf(request)
    const sessions = await ofOwn(accounts.sessions(accountId))
    return { sessions: sessions.map((session) => toSessionRow(session, keyId)) }
  })

  const endOthers = {
    operation: own('endOtherSessions', 'End all sessions; where a session asks, all others', {
      errors: ['session_elsewhere', 'account_unknown'],
      answers: noBody('They apply no more'),
    }),
  }
  app.delete('/api/sessions', { schema: endOthers }, async (request, reply) => {
    const { accountId, keyId, origin } = await callerOf(request)
    await accounts.endOtherSessions(accountId, keyId, origin)
    return reply.code(204).send()
  })

  const endSession = {
    operation: own('endSession', 'End a session', {
      errors: ['session_elsewhere', 'not_found', 'account_unknown'],
      answers: noBody('It applies no more'),
    }),
    params: sessionParams,
  }
  app.delete('/api/sessions/:id', { schema: endSession }, async (request, reply) => {
    const { accountId, origin } = await callerOf(request)
    await accounts.endSession(accountId, request.params.id, origin)
    return reply.code(204).send()
  })

  const show = {
    operation: own('account', 'The account of the key'),
    response: { 200: accountAnswerSchema },
  }
  app.get('/api/account', { schema: show }, async (request) => {
    const { accountId } = await callerOf(request)
    const view = await ofOwn(accounts.show(accountId))
    return toAccountAnswer(view, await options.quotaOf(view.payer))
  })

  const erase = {
    operation: own('eraseAccount', 'Erase the account, its keys and the e-mail address', {
      errors: ['account_unknown'],
      answers: noBody('It is erased'),
    }),
  }
  app.delete('/api/account', { schema: erase }, async (request, reply) => {
    const { accountId, origin } = await callerOf(request)
    await accounts.erase(accountId, origin)
    return reply.code(204).send()
  })

  const listKeys = {
    operation: own('keys', 'The keys of the account, without their text'),
    querystring: keysQuery,
    response: { 200: keysAnswerSchema },
  }
  app.get('/api/keys', { schema: listKeys }, async (request) => {
    const { accountId } = await callerOf(request)
    const { after, limit } = request.query
    const { keys } = await ofOwn(accounts.show(accountId))
    const first = after === undefined ? 0 : keys.findIndex(({ keyId }) => keyId === after) + 1
    const page = keys.slice(first, first + limit)
    const next = first + limit < keys.length ? (page.at(-1)?.keyId ?? null) : null
    return { keys: page.map(toKeyRow), next }
  })

  const issueKey = {
    operation: own('issueKey', 'Issue a further key; it is shown once', {
      errors: ['too_many_keys', 'account_unknown'],
      bodyExample: { label: 'my bot' },
    }),
    body: z.strictObject({ label: labelSchema.default('').describe('What to call the key') }),
    response: { 201: issuedKeyAnswerSchema },
  }
  app.post('/api/keys', { schema: issueKey }, async (request, reply) => {
    const { accountId, origin } = await callerOf(request)
    const { key, keyId, hint, label } = await accounts.issueKey(accountId, request.body.label, origin)
    return reply.code(201).send({ key, key_id: keyId, hint, label, account_id: accountId })
  })

  const revokeKey = {
    operation: own('revokeKey', 'Revoke a key', {
      errors: ['not_found', 'account_unknown'],
      answers: noBody('It applies no more'),
    }),
    params: keyParams,
  }
  app.delete('/api/keys/:id', { schema: revokeKey }, async (request, reply) => {
    const { accountId, origin } = await callerOf(request)
    await accounts.revokeKey(accountId, request.params.id, origin)
    return reply.code(204).send()
  })
}

/** An account that is erased while its owner looks at it has no keys any more. */
async function ofOwn<Answer>(looking: Promise<Answer>): Promise<Answer> {
  try {
    return await looking
  } catch (error) {
    throw isServiceError(error, 'account_unknown') ? new ServiceError('key_unknown') : error
  }
}
