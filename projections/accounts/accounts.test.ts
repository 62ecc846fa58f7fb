import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  AccountErased,
  AccountOpened,
  KeyIssued,
  KeyRevoked,
  PlanEnded,
  PlanStarted,
  SignInRequested,
} from '../../contracts/events/account-events.ts'
import { AppEnded, AppTokenIssued } from '../../contracts/events/oauth-events.ts'
import { accountFact, type Fact, fold, given } from '../given-events.fixture.ts'
import { accountRowKey, accounts, appRowKey, keyIdRowKey, keyRowKey } from './accounts.ts'

const uuid = (n: number): string => `5f0c2d7e-91ab-8c34-a6d2-${n.toString(16).padStart(12, '0')}`
const hash = (n: number): string => n.toString(16).padStart(64, '0')

const opened = (account: number, generation = 0): Fact =>
  accountFact(AccountOpened, { accountId: uuid(account), generation, sealedEmail: 'v1.sealed' })
const issued = (account: number, key: number): Fact =>
  accountFact(KeyIssued, {
    accountId: uuid(account),
    keyId: uuid(key),
    keyHash: hash(key),
    hint: 'sk_live_abcd…',
    label: { sealed: 'v1.a label' },
  })
const revoked = (account: number, key: number): Fact =>
  accountFact(KeyRevoked, { accountId: uuid(account), keyId: uuid(key), reason: 'by its owner' })
const erased = (account: number, generation = 0): Fact =>
  accountFact(AccountErased, { accountId: uuid(account), generation })
const planStarted = (tier: 'starter' | 'pro', from: number, to: number): Fact =>
  accountFact(PlanStarted, { accountId: uuid(1), tier, from, to, source: 'operator', reference: null })

test('given an account with a key, both are found, and nothing personal is', () => {
  const rows = fold(accounts, given(opened(1), issued(1, 7)))
  const key = { kind: 'key', accountId: uuid(1), keyId: uuid(7) }
  expect(rows).toEqual({
    [accountRowKey(uuid(1))]: {
      kind: 'account',
      accountId: uuid(1),
      state: 'open',
      openedAt: '2025-01-01T00:00:00.000Z',
      keys: [{ keyId: uuid(7), keyHash: hash(7) }],
      generation: 0,
      sessionsFrom: 0,
      apps: [],
      plans: [],
    },
    [keyRowKey(hash(7))]: key,
    [keyIdRowKey(uuid(7))]: key,
  })
})

test('given a sign-in that was never confirmed, there is no account', () => {
  const codeHash = hash(1)
  const asked = { accountId: uuid(1), requestId: uuid(2), codeHash, expiresAt: 1 }
  expect(fold(accounts, given(accountFact(SignInRequested, asked)))).toEqual({})
})

/** When every fact here is recorded. */
const AT = Date.UTC(2025, 0, 1)

test('given plans, those that have ended are dropped, the running one and those behind it are not', () => {
  const row = fold(
    accounts,
    given(
      opened(1),
      planStarted('pro', AT - 60, AT),
      planStarted('starter', AT - 5, AT + 25),
      planStarted('starter', AT + 25, AT + 55),
    ),
  )
  expect(row[accountRowKey(uuid(1))]).toMatchObject({
    plans: [
      { tier: 'starter', from: AT - 5, to: AT + 25 },
      { tier: 'starter', from: AT + 25, to: AT + 55 },
    ],
  })
})

test('given a plan that was ended, those of its tier are gone and others stay', () => {
  const ended = accountFact(PlanEnded, { accountId: uuid(1), tier: 'starter', reason: 'replaced by pro' })
  const rows = fold(
    accounts,
    given(
      opened(1),
      planStarted('starter', AT, AT + 30),
      planStarted('starter', AT + 30, AT + 60),
      planStarted('pro', AT + 10, AT + 40),
      ended,
    ),
  )
  expect(rows[accountRowKey(uuid(1))]).toMatchObject({ plans: [{ tier: 'pro', from: AT + 10, to: AT + 40 }] })
})

test('given an account that is opened again after it was erased, old keys and plans do not come back', () => {
  const again = given(opened(1), issued(1, 7), planStarted('pro', 0, 30), erased(1), opened(1, 1))
  expect(fold(accounts, again)).toEqual({
    [`erased/${uuid(1)}.0`]: { kind: 'erasure', accountId: uuid(1), generation: 0 },
    [accountRowKey(uuid(1))]: expect.objectContaining({ state: 'open', keys: [], plans: [] }),
  })
})

test('a program has a row from its first token on, until it ends', () => {
  const grantId = uuid(8)
  const token = accountFact(AppTokenIssued, {
    accountId: uuid(1),
    grantId,
    refreshHash: hash(1),
    expiresAt: 1,
  })
  const ended = accountFact(AppEnded, { accountId: uuid(1), grantId, reason: 'by its owner' })
  const letIn = given(opened(1), token, token)
  const row = { kind: 'app', accountId: uuid(1) }
  expect(fold(accounts, letIn)).toMatchObject({
    [appRowKey(grantId)]: row,
    [accountRowKey(uuid(1))]: { apps: [grantId] },
  })
  expect(fold(accounts, given(opened(1), token, ended))).not.toHaveProperty([appRowKey(grantId)])
  const rows = fold(accounts, given(opened(1), token, erased(1)))
  expect(Object.keys(rows).filter((key) => key.startsWith('app/'))).toEqual([])
})

test('a key has a row just as long as it applies', () => {
  const step = fc.record({
    kind: fc.constantFrom('open', 'issue', 'revoke', 'erase'),
    account: fc.integer({ min: 1, max: 3 }),
    key: fc.integer({ min: 10, max: 16 }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const live = new Map<number, number>()
      const open = new Set<number>()
      const facts: Fact[] = []
      for (const { kind, account, key } of steps) {
        // Only what the stream of an account can hold: ids of keys are never given twice.
        if (kind === 'open' && !open.has(account)) {
          open.add(account)
          facts.push(opened(account))
        } else if (kind === 'issue' && open.has(account) && !live.has(key)) {
          live.set(key, account)
          facts.push(issued(account, key))
        } else if (kind === 'revoke' && live.get(key) === account) {
          live.delete(key)
          facts.push(revoked(account, key))
        } else if (kind === 'erase' && open.has(account)) {
          open.delete(account)
          for (const [one, owner] of live) if (owner === account) live.delete(one)
          facts.push(erased(account))
        }
      }
      const rows = fold(accounts, given(...facts))
      for (const prefix of ['key/', 'key-id/']) {
        expect(Object.keys(rows).filter((name) => name.startsWith(prefix))).toHaveLength(live.size)
      }
      for (const [key, account] of live) {
        expect(rows[keyRowKey(hash(key))]).toEqual({
          kind: 'key',
          accountId: uuid(account),
          keyId: uuid(key),
        })
      }
    }),
  )
})
