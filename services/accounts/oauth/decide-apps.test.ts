import { describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type AccountFact, evolve, initialState } from '../account-state.ts'
import { type AppCommand, decideAny } from './decide-apps.ts'

const accountId = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
const NOW = Date.UTC(2026, 10, 21, 12)
const opened: AccountFact = {
  type: 'AccountOpened',
  data: { accountId, generation: 0, sealedEmail: 'v1.sealed' },
}

const authorize = (grantId: string, client: string, now = NOW): AppCommand => ({
  kind: 'AuthorizeApp',
  grantId,
  app: 'v1.sealed',
  clientHash: client,
  redirectHash: 'redirect',
  codeHash: 'code',
  challenge: 'challenge',
  scopes: ['calls'],
  now,
})
const authorized = (grantId: string, client: string): readonly AccountFact[] => [
  ...decideAny(accountId, authorize(grantId, client), fold([opened])).facts,
  {
    type: 'AppTokenIssued',
    data: { accountId, grantId, refreshHash: 'refresh', expiresAt: NOW + LIMITS.refreshTokenMs },
  },
]

const fold = (facts: readonly AccountFact[]) =>
  facts.reduce((state, fact) => evolve(state, fact, NOW), initialState)

const decided = (facts: readonly AccountFact[], command: AppCommand): string[] => {
  try {
    return decideAny(accountId, command, fold(facts)).facts.map(
      ({ type, data }) => `${type} ${'grantId' in data ? data.grantId : ''}`,
    )
  } catch (error) {
    if (error instanceof ServiceError) return [error.code]
    throw error
  }
}

describe('where as many programs act as may', () => {
  const others = Array.from({ length: LIMITS.appsPerAccount - 2 }, (_, n) => authorized(`${n}`, 'other'))
  const full = [opened, ...authorized('first', 'mine'), ...others.flat(), ...authorized('second', 'mine')]

  test('one that signs in anew takes the place of its oldest sign-in', () => {
    expect(decided(full, authorize('third', 'mine'))).toEqual(['AppEnded first', 'AppAuthorized third'])
  })

  test('one that was not there is refused, and those that are stay', () => {
    expect(decided(full, authorize('new', 'stranger'))).toEqual(['limit_reached'])
  })

  test('one less, and nobody gives way', () => {
    expect(decided(full.slice(0, -2), authorize('third', 'mine'))).toEqual(['AppAuthorized third'])
  })
})
