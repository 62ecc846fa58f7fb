import { describe, expect, test } from 'vitest'
import { ServiceError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { PLAN_DAYS } from '../../contracts/plans.ts'
import { DAY_MS, HOUR_MS } from '../../contracts/timeframes.ts'
import { type AccountFact, evolve, initialState, planAt } from './account-state.ts'
import { type AccountCommand, decide } from './decide-account.ts'

const accountId = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
const NOW = Date.UTC(2026, 10, 21, 12)
const MONTH = PLAN_DAYS * DAY_MS
const hashOf = (code: string): string => code.padStart(64, '0')
const key = (n: number) => ({
  keyId: `key-${n}`,
  keyHash: hashOf(String(n)),
  hint: `sk_live_${n}…`,
  label: '',
})

const opened = (generation = 0): AccountFact => ({
  type: 'AccountOpened',
  data: { accountId, generation, sealedEmail: 'v1.sealed' },
})
const requested = (requestId: string, code: string, expiresAt = NOW + LIMITS.signInCodeMs): AccountFact => ({
  type: 'SignInRequested',
  data: { accountId, requestId, codeHash: hashOf(code), expiresAt },
})
const failed = (requestId: string): AccountFact => ({ type: 'SignInFailed', data: { accountId, requestId } })
const confirmed = (requestId: string): AccountFact => ({
  type: 'SignInConfirmed',
  data: { accountId, requestId },
})
const issued = (n: number): AccountFact => ({ type: 'KeyIssued', data: { accountId, ...key(n) } })
const revoked = (n: number, reason = 'a reason'): AccountFact => ({
  type: 'KeyRevoked',
  data: { accountId, keyId: `key-${n}`, reason },
})
const planStarted = (tier: 'starter' | 'pro', from: number, to = from + MONTH): AccountFact => ({
  type: 'PlanStarted',
  data: { accountId, tier, from, to, source: 'operator', reference: null },
})
const planEnded = (tier: 'starter' | 'pro', reason: string): AccountFact => ({
  type: 'PlanEnded',
  data: { accountId, tier, reason },
})
const erased: AccountFact = { type: 'AccountErased', data: { accountId, generation: 0 } }
const times = <Item>(count: number, make: (n: number) => Item): Item[] =>
  Array.from({ length: count }, (_, n) => make(n))

const given = (...facts: readonly AccountFact[]) => ({
  when(command: AccountCommand) {
    const state = facts.reduce((before, fact) => evolve(before, fact, NOW), initialState)
    const outcome = (): { facts: readonly AccountFact[]; refused?: string } => {
      try {
        const { facts: made, refusal } = decide(accountId, command, state)
        return { facts: made, ...(refusal && { refused: refusal.code }) }
      } catch (error) {
        if (error instanceof ServiceError) return { facts: [], refused: error.code }
        throw error
      }
    }
    return {
      then: (...expected: readonly AccountFact[]) => expect(outcome()).toEqual({ facts: expected }),
      refused: (code: string, ...expected: readonly AccountFact[]) =>
        expect(outcome()).toEqual({ facts: expected, refused: code }),
    }
  },
})

const confirm = (code: string, change: object = {}): AccountCommand => ({
  kind: 'ConfirmSignIn',
  isCode: (_requestId, codeHash) => codeHash === hashOf(code),
  sealedEmail: 'v1.sealed',
  key: key(99),
  revoke: undefined,
  now: NOW,
  ...change,
})

describe('asking to sign in', () => {
  const ask: AccountCommand = { kind: 'RequestSignIn', requestId: 'r', codeHash: hashOf('1'), now: NOW }

  test('makes a code that expires, for anybody, and opens nothing', () => {
    given().when(ask).then(requested('r', '1'))
    given(opened()).when(ask).then(requested('r', '1'))
    given(opened(), erased).when(ask).then(requested('r', '1'))
  })

  const sentAt = (ago: number) => requested('before', '0', NOW - ago + LIMITS.signInCodeMs)

  test('makes no more codes than there may be in an hour and in a day', () => {
    const hour = times(LIMITS.signInsPerHour, (n) => sentAt(HOUR_MS - 1 - n))
    given(...hour)
      .when(ask)
      .then()
    given(...hour.slice(1))
      .when(ask)
      .then(requested('r', '1'))
    given(...hour)
      .when({ ...ask, now: NOW + 1 })
      .then(requested('r', '1', NOW + 1 + LIMITS.signInCodeMs))
    const day = times(LIMITS.signInsPerDay, (n) => sentAt(DAY_MS - 1 - n * 2 * HOUR_MS))
    given(...day)
      .when(ask)
      .then()
    given(...day.slice(1))
      .when(ask)
      .then(requested('r', '1'))
  })

  test('is limited the same after the account was erased', () => {
    const hour = times(LIMITS.signInsPerHour, () => sentAt(60_000))
    given(opened(), ...hour, erased)
      .when(ask)
      .then()
  })
})

describe('giving the code', () => {
  test('opens the account and issues a key, in one', () => {
    given(requested('r', '1')).when(confirm('1')).then(opened(), confirmed('r'), issued(99))
  })

  test('of an account that is open issues another key', () => {
    given(opened(), issued(1), requested('r', '1')).when(confirm('1')).then(confirmed('r'), issued(99))
  })

  test('after an erasure opens another account of the same id, without the old keys', () => {
    given(opened(), issued(1), erased, requested('r', '1'))
      .when(confirm('1'))
      .then(opened(1), confirmed('r'), issued(99))
  })

  test('that is wrong counts, and ends the request in time', () => {
    given(requested('r', '1')).when(confirm('2')).refused('sign_in_refused', failed('r'))
    const almost = times(LIMITS.signInTries - 1, () => failed('r'))
    given(requested('r', '1'), ...almost)
      .when(confirm('1'))
      .then(opened(), confirmed('r'), issued(99))
    given(requested('r', '1'), ...almost, failed('r'))
      .when(confirm('1'))
      .refused('sign_in_refused')
  })

  test('without one that was sent, once it was used, or too late is refused and leaves no trace', () => {
    given().when(confirm('1')).refused('sign_in_refused')
    given(opened(), issued(1)).when(confirm('1')).refused('sign_in_refused')
    given(requested('r', '1'), opened(), confirmed('r')).when(confirm('1')).refused('sign_in_refused')
    given(requested('r', '1', NOW))
      .when(confirm('1'))
      .refused('sign_in_refused')
  })

  test('takes the newest only', () => {
    given(requested('r', '1'), requested('s', '2')).when(confirm('1')).refused('sign_in_refused', failed('s'))
    given(requested('r', '1'), failed('r'), requested('s', '2'), failed('r'))
      .when(confirm('2'))
      .then(opened(), confirmed('s'), issued(99))
  })

  test('with as many keys as there may be is refused without using the code up, unless one is given up', () => {
    const full = [opened(), ...times(LIMITS.keysPerAccount, issued), requested('r', '1')]
    given(...full)
      .when(confirm('1'))
      .refused('too_many_keys')
    given(...full)
      .when(confirm('1', { revoke: 'key-3' }))
      .then(confirmed('r'), revoked(3, 'at sign-in'), issued(99))
    given(...full)
      .when(confirm('1', { revoke: 'key-77' }))
      .refused('not_found')
    given(...full)
      .when(confirm('2', { revoke: 'key-3' }))
      .refused('sign_in_refused', failed('r'))
  })
})

describe('keys', () => {
  const issue: AccountCommand = { kind: 'IssueKey', key: key(99) }

  test('are issued up to the limit, revoked ones not counted', () => {
    given(opened()).when(issue).then(issued(99))
    const full = [opened(), ...times(LIMITS.keysPerAccount, issued)]
    given(...full)
      .when(issue)
      .refused('too_many_keys')
    given(...full, revoked(0))
      .when(issue)
      .then(issued(99))
  })

  test('are those of an open account', () => {
    given().when(issue).refused('account_unknown')
    given(requested('r', '1')).when(issue).refused('account_unknown')
    given(opened(), erased).when(issue).refused('account_unknown')
  })

  test('are revoked once', () => {
    const revoke: AccountCommand = { kind: 'RevokeKey', keyId: 'key-1', reason: 'a reason' }
    given(opened(), issued(1)).when(revoke).then(revoked(1))
    given(opened(), issued(1), revoked(1)).when(revoke).refused('not_found')
    given(opened(), issued(2)).when(revoke).refused('not_found')
    given(opened(), issued(1), erased).when(revoke).refused('account_unknown')
  })
})

describe('a plan', () => {
  const start = (tier: 'free' | 'starter' | 'pro', now = NOW): AccountCommand => ({
    kind: 'StartPlan',
    tier,
    source: 'operator',
    reference: null,
    now,
  })

  test('begins at once and lasts its days', () => {
    given(opened()).when(start('starter')).then(planStarted('starter', NOW))
  })

  test('of the same tier is put behind those that have not ended', () => {
    given(opened(), planStarted('starter', NOW - 5), planStarted('starter', NOW - 5 + MONTH))
      .when(start('starter'))
      .then(planStarted('starter', NOW - 5 + 2 * MONTH))
    given(opened(), planStarted('starter', NOW - MONTH))
      .when(start('starter'))
      .then(planStarted('starter', NOW))
  })

  test('of another tier takes the place of those that have not ended', () => {
    given(opened(), planStarted('starter', NOW - 5), planStarted('starter', NOW - 5 + MONTH))
      .when(start('pro'))
      .then(planEnded('starter', 'replaced by pro'), planStarted('pro', NOW))
    given(opened(), planStarted('starter', NOW - 2 * MONTH))
      .when(start('pro'))
      .then(planStarted('pro', NOW))
  })

  test('free ends what has not ended, and is there without being started', () => {
    given(opened(), planStarted('pro', NOW - 5))
      .when(start('free'))
      .then(planEnded('pro', 'ended by the operator'))
    given(opened()).when(start('free')).then()
  })

  test('is for an open account, and not more of them than there may be', () => {
    given().when(start('pro')).refused('account_unknown')
    const full = times(LIMITS.plansAhead, (n) => planStarted('pro', NOW + n * MONTH))
    given(opened(), ...full)
      .when(start('pro'))
      .refused('invalid_request')
  })
})

test('a plan that is put behind another does not end it', () => {
  const plans = [planStarted('starter', NOW), planStarted('starter', NOW + MONTH)]
  const state = [opened(), ...plans].reduce((before, fact) => evolve(before, fact, NOW), initialState)
  const at = (now: number) => planAt(state.plans, now)?.from
  expect([NOW - 1, NOW, NOW + MONTH - 1, NOW + MONTH, NOW + 2 * MONTH - 1, NOW + 2 * MONTH].map(at)).toEqual([
    undefined,
    NOW,
    NOW,
    NOW + MONTH,
    NOW + MONTH,
    undefined,
  ])
})

describe('erasing', () => {
  const erase: AccountCommand = { kind: 'Erase' }

  test('ends an open account, once each time that it is opened', () => {
    given(opened(), issued(1), planStarted('pro', NOW)).when(erase).then(erased)
    given(opened(), erased).when(erase).refused('account_unknown')
    given().when(erase).refused('account_unknown')
    given(opened(), erased, opened(1))
      .when(erase)
      .then({ type: 'AccountErased', data: { accountId, generation: 1 } })
  })

  test('leaves nothing of the account but how often it was, and the limit of codes', () => {
    const facts = [opened(), issued(1), planStarted('pro', NOW), requested('r', '1'), erased]
    const state = facts.reduce((before, fact) => evolve(before, fact, NOW), initialState)
    expect(state).toEqual({ ...initialState, generation: 1, codesExpireAt: [NOW + LIMITS.signInCodeMs] })
  })
})

test('opening what is open does nothing', () => {
  given(opened()).when({ kind: 'Open', sealedEmail: 'v1.other' }).then()
  given().when({ kind: 'Open', sealedEmail: 'v1.sealed' }).then(opened())
})
