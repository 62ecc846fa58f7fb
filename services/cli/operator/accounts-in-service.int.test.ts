import { readdirSync, readFileSync, statSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AccountAnswer, SignInAnswer } from '../../../contracts/answers/account.ts'
import { type OwnService, startOwnService } from '../../composition/own-service.fixture.ts'
import { runSignal } from '../kit/run-signal.fixture.ts'

const EMAIL = 'ada@example.com'

let folder: string
let service: OwnService
let smtp: SMTPServer
const mails: string[] = []

beforeAll(async () => {
  smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, _session, done) {
      let text = ''
      stream.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')))
      stream.on('end', () => {
        mails.push(text)
        done()
      })
    },
  })
  await new Promise<void>((resolve) => smtp.listen(0, '127.0.0.1', () => resolve()))
  const { port } = smtp.server.address() as AddressInfo
  service = await startOwnService({
    COINS: 'BTC',
    TIMEFRAMES: '1h',
    SMTP_URL: `smtp://127.0.0.1:${port}`,
  })
  ;({ folder } = service)
})
afterAll(async () => {
  await service.stop()
  await new Promise<void>((resolve) => smtp.close(() => resolve()))
})

/** Asks the service over HTTP, as a caller. */
async function call(method: string, path: string, key?: string, body?: object) {
  const answer = await fetch(`${service.url}${path}`, {
    method,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> }
}

/** Runs a command of the command line against the folder of the service. */
const signal = (...args: readonly string[]) => runSignal(...args, '--data-dir', folder)

async function signIn(): Promise<SignInAnswer> {
  expect((await call('POST', '/api/sign-in', undefined, { email: EMAIL })).status).toBe(202)
  const code = /^Subject: (\S{11}) /m.exec(mails.at(-1) ?? '')?.[1]
  const { status, body } = await call('POST', '/api/sign-in/confirm', undefined, { email: EMAIL, code })
  expect(status).toBe(200)
  return body as unknown as SignInAnswer
}

/** Names of the files in the folder of the service that hold a text. */
const filesWith = (text: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const file = join(folder, name)
    return statSync(file).isFile() && readFileSync(file).includes(text)
  })

/** Keys of accounts, wrapped, in any of these files. */
const wrappedKeys = (): ReadonlySet<string> =>
  new Set(
    filesWith('"wrappedKey":"v1.').flatMap(
      (name) => readFileSync(join(folder, name), 'latin1').match(/"wrappedKey":"v1\.[^"]+"/g) ?? [],
    ),
  )

describe('a caller', () => {
  test('signs in by mail, makes and revokes keys, and erases the account', async () => {
    const before = wrappedKeys()
    const { key, key_id: keyId, account_id: accountId } = await signIn()
    const account = await call('GET', '/api/account', key)
    expect(account).toMatchObject({
      status: 200,
      body: { account_id: accountId, email: EMAIL, tier: 'free', quota: { used: 0, limit: 200 } },
    })

    const second = await call('POST', '/api/keys', key, { label: 'bot' })
    expect(second.status).toBe(201)
    const secondKey = String(second.body.key)
    expect((await call('GET', '/api/usage', secondKey)).status).toBe(200)
    expect((await call('DELETE', `/api/keys/${String(second.body.key_id)}`, key)).status).toBe(204)
    expect(await call('GET', '/api/account', secondKey)).toMatchObject({
      status: 401,
      body: { code: 'key_unknown' },
    })
    const { body } = await call('GET', '/api/keys', key)
    expect(body).toMatchObject({ keys: [{ key_id: keyId, label: 'sign-in' }] })

    const wrapped = [...wrappedKeys()].filter((one) => !before.has(one))
    expect(wrapped).not.toEqual([])
    expect((await call('DELETE', '/api/account', key)).status).toBe(204)
    expect((await call('GET', '/api/account', key)).status).toBe(401)
    for (const secret of [key, secondKey, EMAIL]) expect(filesWith(secret)).toEqual([])
    // What opened the sealed address is on no part of the disk that the service writes.
    const left = wrappedKeys()
    expect(wrapped.filter((one) => left.has(one))).toEqual([])
  })

  test('without a key, or with a damaged one, is told so', async () => {
    expect((await call('GET', '/api/account')).body).toMatchObject({ code: 'unauthorized' })
    expect((await call('GET', '/api/account', 'sk_live_x')).body).toMatchObject({ code: 'key_unknown' })
    expect((await call('GET', '/operator/accounts')).status).toBe(401)
  })
})

describe('the operator', () => {
  test('makes, lists and revokes keys by the command line', async () => {
    const made = await signal('keys', 'create', '--tier', 'starter')
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^sk_live_[0-9A-Za-z]{32}\n$/) })
    const key = made.out.trim()
    const account = (await call('GET', '/api/account', key)).body as unknown as AccountAnswer
    expect(account).toMatchObject({ tier: 'starter', email: null, quota: { limit: 10_000 } })

    const listed = await signal('keys', 'list', '--account', account.account_id)
    expect(JSON.parse(listed.out)).toMatchObject({ key_id: account.keys[0]?.key_id, label: 'operator' })
    expect(listed.out).not.toContain(key)
    expect(await signal('keys', 'revoke', account.keys[0]?.key_id ?? '')).toMatchObject({ code: 0, out: '' })
    expect((await call('GET', '/api/account', key)).body).toMatchObject({ code: 'key_unknown' })
  })

  test('shows accounts, grants plans, and erases', async () => {
    const { account_id: id, key } = JSON.parse(
      (await signal('keys', 'create', '--email', 'Bob@example.com', '--json')).out,
    ) as SignInAnswer
    const answer = async (...args: readonly string[]) => JSON.parse((await signal(...args)).out) as object
    expect(await answer('accounts', 'show', id)).toMatchObject({ email: 'bob@example.com', plan: null })
    expect(await answer('accounts', 'grant', id, '--tier', 'pro')).toMatchObject({ plan: { tier: 'pro' } })
    const listed = (await signal('accounts', 'list')).out.trim().split('\n')
    expect(listed.map((line) => (JSON.parse(line) as AccountAnswer).account_id)).toContain(id)

    expect(await signal('accounts', 'erase', id)).toMatchObject({ code: 2 })
    expect(await signal('accounts', 'erase', id, '--yes')).toMatchObject({ code: 0 })
    expect((await call('GET', '/api/account', key)).status).toBe(401)
    expect((await signal('accounts', 'show', id)).err).toContain('error account_unknown')
    expect(filesWith('bob@example.com')).toEqual([])
  })

  test.each([
    [['keys', 'create', '--email', 'nonsense'], 'error invalid_request: email: the address is not one'],
    [['keys', 'create', '--tier', 'gold'], 'error config_invalid: --tier is "gold"'],
    [['keys', 'revoke', 'sk_live_x'], 'error config_invalid: key_id is "sk_live_x"'],
    [['keys', 'revoke', '019abcde-7c00-7001-8000-00000000000a'], 'error not_found'],
    [
      ['keys', 'remove'],
      'error config_invalid: There is no command "keys remove". Did you mean keys revoke? Commands: keys create',
    ],
    [['accounts', 'grant', '019abcde-7c00-7001-8000-00000000000a', '--calls', '5'], '--calls'],
    [['accounts', 'show', '019abcde-7c00-7001-8000-00000000000a'], 'error account_unknown'],
  ])('%j is refused with what to do', async (args, message) => {
    const { code, out, err } = await signal(...args)
    expect([code > 0, out]).toEqual([true, ''])
    expect(err).toContain(message)
  })

  test('is told where no service runs', async () => {
    const { code, err } = await signal('keys', 'create', '--market', 'recorded')
    expect([code, err]).toEqual([2, expect.stringContaining('no service runs on')])
  })
})
