import type { FastifyInstance, InjectOptions } from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { SignInAnswer } from '../../../contracts/answers/account.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Accounts, AccountView, AttemptLimiter } from '../../accounts/index.ts'
import { createServer } from '../../composition/server.ts'
import { serverOptions } from '../testing/server-options.fixture.ts'

const ACCOUNT = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
const SIGN_IN = '019abcde-7c00-7001-8000-00000000000b'
const KEY_ID = '019abcde-7c00-7001-8000-00000000000a'
const TOKEN = 'operator-token-for-tests'
const QUOTA = { remaining: 3, limit: 200, used: 197, resets_at: '2026-12-01T00:00:00.000Z', daily: null }
const VIEW: AccountView = {
  accountId: ACCOUNT,
  email: 'ada@example.com',
  tier: 'starter',
  openedAt: Date.UTC(2026, 10, 1),
  plan: { tier: 'starter', from: Date.UTC(2026, 10, 21), to: Date.UTC(2026, 11, 21) },
  nextPlans: [],
  keys: Array.from({ length: 3 }, (_, n) => ({
    keyId: `019abcde-7c00-7001-8000-00000000000${n}`,
    hint: `sk_live_abc${n}…`,
    label: `bot ${n}`,
    issuedAt: n,
  })),
  payer: { id: ACCOUNT, tier: 'starter', window: { id: '2026-11', from: 0, to: 1 } },
}
const ISSUED = { key: 'sk_live_x', keyId: KEY_ID, hint: 'sk_live_x…', label: 'bot', accountId: ACCOUNT }

let app: FastifyInstance
let asked: unknown[][]
let refuse: ServiceError | undefined
let identity: Awaited<ReturnType<Accounts['identify']>>
let attempts: string[]
let isLimited: boolean

const record =
  <Answer>(name: string, answer: Answer) =>
  async (...given: unknown[]): Promise<Answer> => {
    asked.push([name, ...given])
    if (refuse !== undefined) throw refuse
    return answer
  }

const accounts: Accounts = {
  oauth: undefined as unknown as Accounts['oauth'],
  identify: async () => identity,
  requestSignIn: record('requestSignIn', SIGN_IN),
  confirmSignIn: record('confirmSignIn', { ...ISSUED, tier: 'free' as const }),
  hasNoMail: false,
  beginSession: record('beginSession', { secret: 'ses_x', accountId: ACCOUNT }),
  endBefore: record('endBefore', { keys: 2, programs: 0, next: ACCOUNT }),
  endSessions: record('endSessions', undefined),
  mailOwner: record('mailOwner', undefined),
  show: record('show', VIEW),
  issueKey: record('issueKey', ISSUED),
  revokeKey: record('revokeKey', undefined),
  startPlan: record('startPlan', undefined),
  requirePlanRoom: record('requirePlanRoom', undefined),
  buyPlan: record('buyPlan', { tier: 'starter' as const, from: 0, to: 1 }),
  erase: record('erase', undefined),
  createKey: record('createKey', { ...ISSUED, tier: 'pro' as const }),
  accountOfKey: record('accountOfKey', ACCOUNT),
  list: record('list', [ACCOUNT]),
  close: async () => undefined,
}

const limiter = (name: string): AttemptLimiter => ({
  async take(subject) {
    attempts.push(`${name} ${subject}`)
    if (isLimited) throw new ServiceError('rate_limited', { details: { retry_after_s: 1_234 } })
  },
})

beforeEach(async () => {
  asked = []
  attempts = []
  refuse = undefined
  isLimited = false
  const window = { id: '2026-11', from: 0, to: 1 }
  identity = { outcome: 'OK', accountId: ACCOUNT, keyId: KEY_ID, tier: 'starter', window }
  app = await createServer(
    serverOptions({
      operatorToken: TOKEN,
      accounts: {
        accounts,
        quotaOf: async () => QUOTA,
        signInRequests: limiter('request'),
        signInTries: limiter('try'),
        clientDocuments: limiter('document'),
      },
    }),
  )
})
afterEach(() => app.close())

const ask = (method: InjectOptions['method'], url: string, payload?: object, token = 'sk_live_x') =>
  app.inject({
    method: method ?? 'GET',
    url,
    remoteAddress: '2001:db8:1:2:3:4:5:6',
    headers: { authorization: `Bearer ${token}` },
    ...(payload && { payload }),
  })
const operator = (method: InjectOptions['method'], url: string, payload?: object) =>
  ask(method, url, payload, TOKEN)

describe('a request without a body', () => {
  const bare = (method: InjectOptions['method'], url: string, headers: Record<string, string>) =>
    app.inject({ method: method ?? 'POST', url, headers: { authorization: 'Bearer sk_live_x', ...headers } })

  test.each([[{}], [{ 'content-type': 'application/json' }]])(
    'and the headers %j is taken where none is needed, and names what is missing where one is',
    async (headers) => {
      expect((await bare('POST', '/api/keys', headers)).statusCode).toBe(201)
      expect((await bare('DELETE', `/api/keys/${KEY_ID}`, headers)).statusCode).toBe(204)
      const refused = await bare('POST', '/api/sign-in/confirm', headers)
      expect(refused.json()).toMatchObject({
        code: 'invalid_request',
        message: 'email: is missing; code: is missing',
        details: {
          fields: [
            { field: 'email', problem: 'is missing' },
            { field: 'code', problem: 'is missing' },
          ],
        },
      })
    },
  )
})

describe('sign-in', () => {
  test('answers the same for every address, and names the address of the client to the limit', async () => {
    const answers = []
    for (const email of ['ada@example.com', 'bob@example.com']) {
      const { statusCode, headers, body } = await app.inject({
        method: 'POST',
        url: '/api/sign-in',
        remoteAddress: '2001:db8:1:2:3:4:5:6',
        payload: { email },
      })
      const { date: _date, ...same } = headers
      answers.push({ statusCode, body, headers: same })
    }
    expect(answers[0]).toEqual(answers[1])
    expect(answers[0]).toMatchObject({ statusCode: 202, headers: { 'cache-control': 'no-store' } })
    expect(JSON.parse(answers[0]?.body ?? '')).toEqual({
      message: expect.any(String),
      sign_in_id: SIGN_IN,
      expires_in_s: LIMITS.signInCodeMs / 1_000,
    })
    expect(attempts).toEqual(Array(2).fill('request 2001:db8:1::/48'))
    const wanted = { email: 'ada@example.com', client: '2001:db8:1::/48' }
    expect(asked[0]?.slice(0, 2)).toEqual(['requestSignIn', wanted])
  })

  test('gives the key for the code', async () => {
    const payload = { email: 'ada@example.com', code: '7K2M9-QX4RT', label: 'my bot' }
    const answer = await ask('POST', '/api/sign-in/confirm', payload)
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.json<SignInAnswer>()).toEqual({
      key: 'sk_live_x',
      key_id: KEY_ID,
      hint: 'sk_live_x…',
      label: 'bot',
      account_id: ACCOUNT,
      tier: 'free',
    })
    const origin = { correlationId: expect.any(String), actor: 'sign-in of a program' }
    expect(asked).toEqual([['confirmSignIn', { ...payload, signInId: undefined }, origin]])
    expect(attempts).toEqual(['try 2001:db8:1::/48'])
  })

  test('begins a session for the code, whose tries are counted as those for keys', async () => {
    const payload = { email: 'ada@example.com', code: '7K2M9-QX4RT', sign_in_id: SIGN_IN }
    const answer = await ask('POST', '/api/sign-in/session', payload)
    expect(answer.json()).toEqual({ session: 'ses_x', account_id: ACCOUNT })
    expect(attempts).toEqual(['try 2001:db8:1::/48'])
  })

  test('ends all sessions at once', async () => {
    expect((await ask('DELETE', '/api/sessions')).statusCode).toBe(204)
    expect(asked.map(([name, account]) => [name, account])).toEqual([['endSessions', ACCOUNT]])
  })

  test('refuses a wrong code with 401', async () => {
    refuse = new ServiceError('sign_in_refused')
    const answer = await ask('POST', '/api/sign-in/confirm', { email: 'ada@example.com', code: '123456' })
    expect([answer.statusCode, answer.json<{ code: string }>().code]).toEqual([401, 'sign_in_refused'])
  })
})

describe('the account of a key', () => {
  const own = [
    ['GET', '/api/account'],
    ['DELETE', '/api/account'],
    ['GET', '/api/keys'],
    ['POST', '/api/keys'],
    ['DELETE', `/api/keys/${KEY_ID}`],
  ] as const

  test.each(own)('%s %s is for who has a key that applies', async (method, url) => {
    const outcomes = []
    for (const one of [
      { outcome: 'ABSENT' },
      { outcome: 'MALFORMED' },
      { outcome: 'UNKNOWN' },
      { outcome: 'INDETERMINATE', reason: 'the store is away' },
    ] as const) {
      identity = one
      const answer = await ask(method, url, method === 'POST' ? {} : undefined)
      outcomes.push([answer.statusCode, answer.json<{ code: string }>().code])
    }
    expect(outcomes).toEqual([
      [401, 'unauthorized'],
      [401, 'unauthorized'],
      [401, 'key_unknown'],
      [503, 'key_unverifiable'],
    ])
    expect(asked).toEqual([])
  })

  test('is shown with its plan, its keys and what is left', async () => {
    const answer = await ask('GET', '/api/account')
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.json()).toMatchObject({
      account_id: ACCOUNT,
      email: 'ada@example.com',
      tier: 'starter',
      plan: { tier: 'starter', from: '2026-11-21T00:00:00.000Z', to: '2026-12-21T00:00:00.000Z' },
      next_plans: [],
      quota: QUOTA,
    })
    expect(answer.json<{ keys: unknown[] }>().keys).toHaveLength(3)
  })

  test('is erased', async () => {
    const answer = await ask('DELETE', '/api/account')
    expect([answer.statusCode, answer.body]).toEqual([204, ''])
    expect(asked).toEqual([['erase', ACCOUNT, { correlationId: expect.any(String), actor: `key ${KEY_ID}` }]])
  })

  test('lists its keys, and no key itself', async () => {
    const { keys } = (await ask('GET', '/api/keys')).json<{ keys: { key_id: string }[] }>()
    expect(Object.keys(keys[0] ?? {}).toSorted()).toEqual(['created_at', 'hint', 'key_id', 'label'])
    expect(keys.map(({ key_id }) => key_id)).toEqual(VIEW.keys.map(({ keyId }) => keyId))
  })

  test('issues a key, told once', async () => {
    const answer = await ask('POST', '/api/keys', { label: ' my bot ' })
    expect(answer.statusCode).toBe(201)
    expect(answer.json()).toMatchObject({ key: 'sk_live_x', key_id: KEY_ID, account_id: ACCOUNT })
    expect(asked[0]?.slice(0, 3)).toEqual(['issueKey', ACCOUNT, 'my bot'])
  })

  test('revokes its keys and no others', async () => {
    expect((await ask('DELETE', `/api/keys/${KEY_ID.toUpperCase()}`)).statusCode).toBe(204)
    expect(asked[0]?.slice(0, 3)).toEqual(['revokeKey', ACCOUNT, KEY_ID])
    refuse = new ServiceError('not_found')
    expect((await ask('DELETE', `/api/keys/${KEY_ID}`)).statusCode).toBe(404)
    expect((await ask('DELETE', '/api/keys/nonsense')).statusCode).toBe(400)
  })
})

describe('the operator', () => {
  test.each([
    ['POST', '/operator/keys'],
    ['GET', `/operator/keys?account_id=${ACCOUNT}`],
    ['DELETE', `/operator/keys/${KEY_ID}`],
    ['GET', '/operator/accounts'],
    ['GET', `/operator/accounts/${ACCOUNT}`],
    ['POST', `/operator/accounts/${ACCOUNT}/grant`],
    ['DELETE', `/operator/accounts/${ACCOUNT}`],
  ] as const)('%s %s is for nobody else', async (method, url) => {
    const payload = method === 'POST' ? { tier: 'pro' } : undefined
    const without = await app.inject({ method, url, ...(payload && { payload }) })
    expect([without.statusCode, (await ask(method, url, payload)).statusCode]).toEqual([401, 401])
    expect(asked).toEqual([])
    expect((await operator(method, url, payload)).statusCode).toBeLessThan(300)
  })

  test('makes keys, with an account and a plan where need be', async () => {
    const answer = await operator('POST', '/operator/keys', { tier: 'pro', email: 'ada@example.com' })
    expect([answer.statusCode, answer.json()]).toEqual([
      201,
      expect.objectContaining({ key: 'sk_live_x', account_id: ACCOUNT, tier: 'pro' }),
    ])
    expect(asked[0]?.slice(0, 3)).toEqual([
      'createKey',
      { email: 'ada@example.com', accountId: undefined },
      { label: 'operator', tier: 'pro' },
    ])
  })

  test('grants a plan, and nothing else', async () => {
    const grant = (payload: object) => operator('POST', `/operator/accounts/${ACCOUNT}/grant`, payload)
    expect((await grant({ tier: 'pro' })).json()).toMatchObject({ quota: QUOTA })
    expect(asked.find(([name]) => name === 'startPlan')?.slice(1, 3)).toEqual([
      ACCOUNT,
      { tier: 'pro', source: 'operator' },
    ])
    asked = []
    for (const wrong of [{}, { calls: 5, reason: 'x' }, { tier: 'gold' }, { tier: 'pro', calls: 1 }]) {
      expect((await grant(wrong)).statusCode).toBe(400)
    }
    expect(asked).toEqual([])
  })

  test('lists accounts, and passes over one that was erased meanwhile', async () => {
    expect((await operator('GET', '/operator/accounts?limit=1')).json()).toEqual({
      accounts: [
        {
          account_id: ACCOUNT,
          email: 'ada@example.com',
          tier: 'starter',
          opened_at: '2026-11-01T00:00:00.000Z',
          keys: 3,
        },
      ],
      next: ACCOUNT,
    })
  })
})
