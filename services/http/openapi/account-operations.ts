import { z } from 'zod'
import type { ErrorCode } from '../../../contracts/errors.ts'
import type { Operations } from './operation.ts'

const tokenAnswer = z.object({
  access_token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.int(),
  refresh_token: z.string().optional(),
  scope: z.string(),
})

/** What a route that needs a key can refuse with. */
const KEY_ERRORS = [
  'unauthorized',
  'key_unknown',
  'key_unverifiable',
  'store_unavailable',
] as const satisfies readonly ErrorCode[]

const own = { tag: 'account', key: 'required' } as const

export const accountOperations: Operations = {
  'POST /api/sign-in': {
    tag: 'account',
    key: 'none',
    id: 'signIn',
    summary: 'Have a code sent to an e-mail address',
    description:
      'The answer is the same whether or not there is an account. A code is good for half an hour, and several are beside one another.',
    errors: ['invalid_request', 'store_unavailable'],
    bodyExample: { email: 'you@example.com' },
  },
  'POST /api/sign-in/confirm': {
    tag: 'account',
    key: 'none',
    id: 'confirmSignIn',
    summary: 'Give the code, and receive an API key',
    description:
      'Opens the account where there is none yet. The key is shown once, in this answer; only its hash is kept.',
    errors: ['invalid_request', 'sign_in_refused', 'too_many_keys', 'store_unavailable'],
    bodyExample: { email: 'you@example.com', code: '7K2M9-QX4RT' },
  },
  'POST /api/sign-in/session': {
    tag: 'account',
    key: 'none',
    id: 'beginSession',
    summary: 'Give the code, and begin a session of the console',
    description:
      'What the account page asks for a browser. The secret is for its cookie; as an API key it is refused. It is told once, in this answer.',
    errors: ['invalid_request', 'sign_in_refused', 'rate_limited', 'store_unavailable'],
    bodyExample: { email: 'you@example.com', code: '7K2M9-QX4RT' },
  },
  'GET /api/sessions': {
    ...own,
    id: 'sessions',
    summary: 'Browsers that are signed in to the account',
    errors: [...KEY_ERRORS, 'session_elsewhere', 'account_unknown'],
  },
  'DELETE /api/sessions': {
    ...own,
    id: 'endOtherSessions',
    summary: 'End all sessions; where a session asks, all others',
    errors: [...KEY_ERRORS, 'session_elsewhere', 'account_unknown'],
    answers: { 204: { description: 'They apply no more', content: {} } },
  },
  'DELETE /api/sessions/:id': {
    ...own,
    id: 'endSession',
    summary: 'End a session',
    errors: [...KEY_ERRORS, 'session_elsewhere', 'invalid_request', 'not_found', 'account_unknown'],
    answers: { 204: { description: 'It applies no more', content: {} } },
    parameters: { id: 'The `session_id` of a row of `GET /api/sessions`' },
  },
  'GET /api/account': { ...own, id: 'account', summary: 'The account of the key', errors: KEY_ERRORS },
  'DELETE /api/account': {
    ...own,
    id: 'eraseAccount',
    summary: 'Erase the account, its keys and the e-mail address',
    errors: [...KEY_ERRORS, 'account_unknown'],
    answers: { 204: { description: 'It is erased', content: {} } },
  },
  'GET /api/keys': {
    ...own,
    id: 'keys',
    summary: 'The keys of the account, without their text',
    errors: KEY_ERRORS,
  },
  'POST /api/keys': {
    ...own,
    id: 'issueKey',
    summary: 'Issue a further key; it is shown once',
    errors: [...KEY_ERRORS, 'invalid_request', 'too_many_keys', 'account_unknown'],
    bodyExample: { label: 'my bot' },
  },
  'DELETE /api/keys/:id': {
    ...own,
    id: 'revokeKey',
    summary: 'Revoke a key',
    errors: [...KEY_ERRORS, 'invalid_request', 'not_found', 'account_unknown'],
    answers: { 204: { description: 'It applies no more', content: {} } },
    parameters: { id: 'The id of the key, which is not the key' },
  },
  'GET /api/apps': {
    ...own,
    id: 'apps',
    summary: 'Programs that act for the account, and clients for machines',
    errors: [...KEY_ERRORS, 'token_elsewhere', 'account_unknown'],
  },
  'POST /api/apps': {
    ...own,
    id: 'createClient',
    summary: 'Make a client for a machine, with a secret that is shown once or with public keys',
    errors: [...KEY_ERRORS, 'token_elsewhere', 'invalid_request', 'too_many_apps', 'account_unknown'],
    bodyExample: { name: 'nightly run', scopes: ['calls'] },
  },
  'DELETE /api/apps/:id': {
    ...own,
    id: 'endApp',
    summary: 'Shut a program out, or remove a client',
    errors: [...KEY_ERRORS, 'token_elsewhere', 'invalid_request', 'not_found', 'account_unknown'],
    answers: { 204: { description: 'It acts no more', content: {} } },
    parameters: { id: 'The `id` of a row of `GET /api/apps`' },
  },
  'POST /oauth/token': {
    tag: 'account',
    key: 'none',
    id: 'token',
    summary: 'Change a code, a refresh token or the proof of a machine into an access token (RFC 6749)',
    description:
      'Parameters as a form. Refusals are `{error, error_description}` in the words of OAuth; see the page about OAuth.',
    errors: [],
    answers: { 200: { description: 'Tokens', content: { 'application/json': tokenAnswer } } },
  },
  'POST /oauth/revoke': {
    tag: 'account',
    key: 'none',
    id: 'revokeToken',
    summary: 'Give a token back, which ends what it belongs to (RFC 7009)',
    errors: [],
    answers: { 200: { description: 'It holds no more', content: { 'application/json': z.object({}) } } },
  },
  'GET /api/usage': {
    ...own,
    id: 'usage',
    summary: 'The calls left, and the ledger of those that were made',
    errors: [...KEY_ERRORS, 'invalid_request'],
    parameters: { after: 'Rows behind these: the `next` of the answer before', limit: 'Rows at most' },
  },
  'GET /api/payments': {
    ...own,
    id: 'ownPayments',
    summary: 'What was paid for plans of the account, and how each payment stands on the chain',
    description:
      'Newest first. Calls that were paid for by themselves are of no account: they are shown at /x402/payments/{id}, to who holds the id.',
    errors: [...KEY_ERRORS, 'invalid_request', 'payments_unavailable'],
  },
}
