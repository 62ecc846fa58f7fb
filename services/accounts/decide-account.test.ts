import { describe, expect, test } from 'vitest'
import { PLAN_DAYS } from '../../contracts/domain/plans.ts'
import { DAY_MS } from '../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { planAt } from '../../projections/index.ts'
import { type AccountFact, evolve, initialState } from './account-state.ts'
import { type AccountCommand, decide, requireRoomFor } from './decide-account.ts'

const accountId = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
const NOW = Date.UTC(2026, 10, 21, 12)
const MONTH = PLAN_DAYS * DAY_MS
const hashOf = (code: string): string => code.padStart(64, '0')
const key = (n: number) => ({
  keyId: `key-${n}`,
  keyHash: hashOf(String(n)),
  hint: `sk_live_${n}…`,
  label: null,
})

const opened = (generation = 0): AccountFact => ({
  type: 'AccountOpened',
  data: { accountId, generation, sealedEmail: 'v1.sealed' },
})
const requested = (requestId: string, code: string, expiresAt = NOW + LIMITS.signInCodeMs): AccountFact => ({
  type: 'SignInRequested',
  data: {
    accountId,
    requestId,
    codeHash: hashOf(code),
    expiresAt,
  },
})
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
  when(command: AccountCommand): { facts: readonly AccountFact[]; refused: string | undefined } {
    const state = facts.reduce((before, fact) => evolve(before, fact, NOW), initialState)
    try {
      const { facts: recorded, refusal } = decide(accountId, command, state)
      return { facts: recorded, refused: refusal?.code }
    } catch (error) {
      if (error instanceof ServiceError) return { facts: [], refused: error.code }
      throw error
    }
  },
})

const made = (...facts: readonly AccountFact[]) => ({ facts, refused: undefined })
const refused = (code: string, ...facts: readonly AccountFact[]) => ({ facts, refused: code })

const confirm = (code: string, change: object = {}): AccountCommand => ({
  kind: 'ConfirmSignIn',
  requestId: undefined,
  isCode: (_requestId, codeHash) => codeHash === hashOf(code),
  sealedEmail: 'v1.sealed',
  key: key(99),
  revoke: undefined,
  now: NOW,
  ...change,
})

describe('asking to sign in', () => {
  const ask = {
    kind: 'RequestSignIn',
    requestId: 'r',
    codeHash: hashOf('1'),
    now: NOW,
  } as const

  test('makes a code that expires, for anybody, and opens nothing', () => {
    expect(given().when(ask)).toEqual(made(requested('r', '1')))
    expect(given(opened()).when(ask)).toEqual(made(requested('r', '1')))
    expect(given(opened(), erased).when(ask)).toEqual(made(requested('r', '1')))
  })

  test('makes no more codes than may be good at a time', () => {
    const open = times(LIMITS.signInsOpen, (n) => requested(`before ${n}`, '0', NOW + 1 + n))
    expect(given(...open).when(ask)).toEqual(made())
    expect(given(...open).when({ ...ask, now: NOW + 1 })).toEqual(
      made(requested('r', '1', NOW + 1 + LIMITS.signInCodeMs)),
    )
  })
})

describe('giving the code', () => {
  test('opens the account and issues a key, in one', () => {
    expect(given(requested('r', '1')).when(confirm('1'))).toEqual(made(opened(), confirmed('r'), issued(99)))
  })

  test('of an account that is open issues another key', () => {
    expect(given(opened(), issued(1), requested('r', '1')).when(confirm('1'))).toEqual(
      made(confirmed('r'), issued(99)),
    )
  })

  test('after an erasure opens another account of the same id, without the old keys', () => {
    expect(given(opened(), issued(1), erased, requested('r', '1')).when(confirm('1'))).toEqual(
      made(opened(1), confirmed('r'), issued(99)),
    )
  })

  test('that is wrong is refused, leaves no trace and ends nothing', () => {
    expect(given(requested('r', '1')).when(confirm('2'))).toEqual(refused('sign_in_refused'))
  })

  test('without one that was sent, once it was used, or too late is refused and leaves no trace', () => {
    expect(given().when(confirm('1'))).toEqual(refused('sign_in_refused'))
    expect(given(opened(), issued(1)).when(confirm('1'))).toEqual(refused('sign_in_refused'))
    expect(given(requested('r', '1'), opened(), confirmed('r')).when(confirm('1'))).toEqual(
      refused('sign_in_refused'),
    )
    expect(given(requested('r', '1', NOW)).when(confirm('1'))).toEqual(refused('sign_in_refused'))
  })

  test('takes any that is open, each once; whose request is named, that one only', () => {
    const both = [requested('r', '1'), requested('s', '2')]
    expect(given(...both).when(confirm('1'))).toEqual(made(opened(), confirmed('r'), issued(99)))
    expect(given(...both).when(confirm('2'))).toEqual(made(opened(), confirmed('s'), issued(99)))
    expect(given(...both, opened(), confirmed('r')).when(confirm('2'))).toEqual(
      made(confirmed('s'), issued(99)),
    )
    expect(given(...both).when(confirm('1', { requestId: 'r' }))).toEqual(
      made(opened(), confirmed('r'), issued(99)),
    )
    expect(given(...both).when(confirm('1', { requestId: 's' }))).toEqual(refused('sign_in_refused'))
  })

  test('with as many keys as there may be is refused without using the code up, unless one is given up', () => {
    const full = [opened(), ...times(LIMITS.keysPerAccount, issued), requested('r', '1')]
    expect(given(...full).when(confirm('1'))).toEqual(refused('limit_reached'))
    expect(given(...full).when(confirm('1', { revoke: 'key-3' }))).toEqual(
      made(confirmed('r'), revoked(3, 'at sign-in'), issued(99)),
    )
    expect(given(...full).when(confirm('1', { revoke: 'key-77' }))).toEqual(refused('not_found'))
    expect(given(...full).when(confirm('2', { revoke: 'key-3' }))).toEqual(refused('sign_in_refused'))
  })
})

describe('keys', () => {
  const issue: AccountCommand = { kind: 'IssueKey', key: key(99) }

  test('are issued up to the limit, revoked ones not counted', () => {
    expect(given(opened()).when(issue)).toEqual(made(issued(99)))
    const full = [opened(), ...times(LIMITS.keysPerAccount, issued)]
    expect(given(...full).when(issue)).toEqual(refused('limit_reached'))
    expect(given(...full, revoked(0)).when(issue)).toEqual(made(issued(99)))
  })

  test('are those of an open account', () => {
    expect(given().when(issue)).toEqual(refused('account_unknown'))
    expect(given(requested('r', '1')).when(issue)).toEqual(refused('account_unknown'))
    expect(given(opened(), erased).when(issue)).toEqual(refused('account_unknown'))
  })

  test('are revoked once', () => {
    const revoke: AccountCommand = { kind: 'RevokeKey', keyId: 'key-1', reason: 'a reason' }
    expect(given(opened(), issued(1)).when(revoke)).toEqual(made(revoked(1)))
    expect(given(opened(), issued(1), revoked(1)).when(revoke)).toEqual(refused('not_found'))
    expect(given(opened(), issued(2)).when(revoke)).toEqual(refused('not_found'))
    expect(given(opened(), issued(1), erased).when(revoke)).toEqual(refused('account_unknown'))
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
    expect(given(opened()).when(start('starter'))).toEqual(made(planStarted('starter', NOW)))
  })

  test('of the same tier is put behind those that have not ended', () => {
    expect(
      given(opened(), planStarted('starter', NOW - 5), planStarted('starter', NOW - 5 + MONTH)).when(
        start('starter'),
      ),
    ).toEqual(made(planStarted('starter', NOW - 5 + 2 * MONTH)))
    expect(given(opened(), planStarted('starter', NOW - MONTH)).when(start('starter'))).toEqual(
      made(planStarted('starter', NOW)),
    )
  })

  test('of another tier takes the place of those that have not ended', () => {
    expect(
      given(opened(), planStarted('starter', NOW - 5), planStarted('starter', NOW - 5 + MONTH)).when(
        start('pro'),
      ),
    ).toEqual(made(planEnded('starter', 'replaced by pro'), planStarted('pro', NOW)))
    expect(given(opened(), planStarted('starter', NOW - 2 * MONTH)).when(start('pro'))).toEqual(
      made(planStarted('pro', NOW)),
    )
  })

  test('free ends what has not ended, and is there without being started', () => {
    expect(given(opened(), planStarted('pro', NOW - 5)).when(start('free'))).toEqual(
      made(planEnded('pro', 'ended by the operator')),
    )
    expect(given(opened()).when(start('free'))).toEqual(made())
  })

  test('that was paid for begins once, also when the payment is told again after it has ended', () => {
    const bought = (reference: string): AccountCommand => ({
      kind: 'StartPlan',
      tier: 'pro',
      source: 'payment',
      reference,
      now: NOW,
    })
    const begun = (reference: string, from: number): AccountFact => ({
      type: 'PlanStarted',
      data: { accountId, tier: 'pro', from, to: from + MONTH, source: 'payment', reference },
    })
    expect(given(opened()).when(bought('payment-1'))).toEqual(made(begun('payment-1', NOW)))
    const ended = [opened(), begun('payment-1', NOW - 2 * MONTH)]
    expect(given(...ended).when(bought('payment-1'))).toEqual(made())
    expect(given(...ended).when(bought('payment-2'))).toEqual(made(begun('payment-2', NOW)))
  })

  test('that was paid for is put behind a dearer one that has begun since', () => {
    const bought: AccountCommand = {
      kind: 'StartPlan',
      tier: 'starter',
      source: 'payment',
      reference: 'payment-1',
      claimedAtMs: NOW,
      now: NOW,
    }
    expect(given(opened(), planStarted('pro', NOW - 5)).when(bought)).toEqual(
      made({
        type: 'PlanStarted',
        data: {
          accountId,
          tier: 'starter',
          from: NOW - 5 + MONTH,
          to: NOW - 5 + 2 * MONTH,
          source: 'payment',
          reference: 'payment-1',
        },
      }),
    )
  })

  test('is for an open account, and not more of them than there may be', () => {
    expect(given().when(start('pro'))).toEqual(refused('account_unknown'))
    const full = times(LIMITS.plansAhead, (n) => planStarted('pro', NOW + n * MONTH))
    expect(given(opened(), ...full).when(start('pro'))).toEqual(refused('invalid_request'))
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
    expect(given(opened(), issued(1), planStarted('pro', NOW)).when(erase)).toEqual(made(erased))
    expect(given(opened(), erased).when(erase)).toEqual(refused('account_unknown'))
    expect(given().when(erase)).toEqual(refused('account_unknown'))
    expect(given(opened(), erased, opened(1)).when(erase)).toEqual(
      made({ type: 'AccountErased', data: { accountId, generation: 1 } }),
    )
  })

  test('leaves nothing of the account but how often it was', () => {
    const facts = [opened(), issued(1), planStarted('pro', NOW), requested('r', '1'), erased]
    const state = facts.reduce((before, fact) => evolve(before, fact, NOW), initialState)
    expect(state).toEqual({ ...initialState, generation: 1 })
  })
})

test('opening what is open does nothing', () => {
  expect(given(opened()).when({ kind: 'Open', sealedEmail: 'v1.other' })).toEqual(made())
  expect(given().when({ kind: 'Open', sealedEmail: 'v1.sealed' })).toEqual(made(opened()))
})

describe('room for subscriptions', () => {
  const take = (n: number, change: object = {}): AccountCommand => ({
    kind: 'TakeSlot',
    subscriptionId: `subscription-${n}`,
    generation: 0,
    now: NOW,
    ...change,
  })
  const taken = (n: number): AccountFact => ({
    type: 'SubscriptionSlotTaken',
    data: { accountId, subscriptionId: `subscription-${n}` },
  })
  const freed = (n: number): AccountFact => ({
    type: 'SubscriptionSlotFreed',
    data: { accountId, subscriptionId: `subscription-${n}` },
  })
  const free = (n: number): AccountCommand => ({ kind: 'FreeSlot', subscriptionId: `subscription-${n}` })
  const five = times(LIMITS.subscriptionsOnFree, taken)

  test('is taken up to what the plan allows at the moment', () => {
    expect(given(opened()).when(take(9))).toEqual(made(taken(9)))
    expect(given(opened(), ...five).when(take(9))).toEqual(refused('limit_reached'))
    const paid = [opened(), planStarted('starter', NOW - 1)]
    expect(given(...paid, ...five).when(take(9))).toEqual(made(taken(9)))
    expect(given(...paid, ...five).when(take(9, { now: NOW + MONTH }))).toEqual(refused('limit_reached'))
    expect(given(...paid, ...times(LIMITS.subscriptionsOnPaid, taken)).when(take(99))).toEqual(
      refused('limit_reached'),
    )
  })

  test('is taken once, and free again once it is given back', () => {
    expect(given(opened(), ...five).when(take(3))).toEqual(made())
    expect(given(opened(), ...five, freed(3)).when(take(9))).toEqual(made(taken(9)))
    expect(given(opened(), ...five).when(free(3))).toEqual(made(freed(3)))
    expect(given(opened(), ...five).when(free(9))).toEqual(made())
  })

  test('is of an account that is open, and is the one that was meant', () => {
    expect(given().when(take(1))).toEqual(refused('account_unknown'))
    expect(given(opened(), erased).when(take(1))).toEqual(refused('account_unknown'))
    expect(given(opened(), erased, opened(1)).when(take(1))).toEqual(refused('account_unknown'))
  })

  test('of an erased account is given back later, and takes none from the next', () => {
    const reopened = [opened(), ...five, erased, opened(1)]
    expect(given(...reopened).when(take(9, { generation: 1 }))).toEqual(made(taken(9)))
    expect(given(opened(), ...five, erased).when(free(2))).toEqual(made(freed(2)))
  })
})

describe('a dearer plan', () => {
  const pro = (to: number) => fold(opened(), planStarted('pro', to - MONTH, to))
  const fold = (...facts: readonly AccountFact[]) =>
    facts.reduce((before, fact) => evolve(before, fact, NOW - MONTH), initialState)
  const codeOf = (work: () => void): string => {
    try {
      work()
      return 'none'
    } catch (error) {
      return error instanceof ServiceError ? error.code : String(error)
    }
  }

  test.each([
    ['ends in a moment', 'plan_conflict', NOW + 1],
    ['ends at this instant', 'none', NOW],
  ])('that %s: buying a cheaper one answers %s', (_when, code, to) => {
    expect(codeOf(() => requireRoomFor(accountId, 'starter', pro(to), NOW))).toBe(code)
  })

  test('that ends at this instant is not ended once more by a cheaper one', () => {
    const cheaper = {
      kind: 'StartPlan',
      tier: 'starter',
      source: 'operator',
      reference: null,
      now: NOW,
    } as const
    expect(decide(accountId, cheaper, pro(NOW)).facts.map(({ type }) => type)).toEqual(['PlanStarted'])
  })
})
