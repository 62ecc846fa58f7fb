import { describe, expect, test } from 'vitest'
import type { AuthorizationOutcome, TokenRefusal } from '../chain/chain.ts'
import { type ChainView, decideFinality, decideSettlement, type SettlingFacts } from './decide-settlement.ts'

const HASH = `0x${'ab'.repeat(32)}` as const
const BLOCK = `0x${'cd'.repeat(32)}` as const

const owed: SettlingFacts = {
  state: 'owed',
  validAfter: 1_000n,
  validBefore: 2_000n,
  lastReason: null,
  broadcasts: [],
  wasForwarded: false,
  isOverdue: false,
  minedFailures: 0,
  isGivenUp: false,
}
const fine: ChainView = {
  blockTime: 1_500,
  outcome: { kind: 'unused' },
  rehearsal: { refusal: undefined, hasCode: false },
  transaction: 'missing',
}
const paid: AuthorizationOutcome = { kind: 'paid', transaction: HASH, blockNumber: 7, blockHash: BLOCK }
const refusing = (reason: TokenRefusal['reason']): Partial<ChainView> => ({
  rehearsal: { refusal: { reason, detail: 'its words' }, hasCode: false },
})

describe('given a payment that is owed', () => {
  const when = (chain: Partial<ChainView>, facts: Partial<SettlingFacts> = {}) =>
    decideSettlement({ ...owed, ...facts }, { ...fine, ...chain })

  test('it is sent', () => {
    expect(when({})).toEqual({ kind: 'send' })
  })

  test('of an account that has code by now it is never sent, whatever the rehearsal says', () => {
    const withCode = { rehearsal: { refusal: undefined, hasCode: true } }
    expect(when(withCode)).toEqual({ kind: 'refused', reason: 'contract_account' })
    expect(when(withCode, { isGivenUp: true })).toMatchObject({
      kind: 'uncollectable',
      reason: 'contract_account',
    })
  })

  test('after two transactions that moved nothing it is given up', () => {
    expect(when({}, { minedFailures: 1 })).toEqual({ kind: 'send' })
    expect(when({}, { minedFailures: 2 })).toMatchObject({ kind: 'uncollectable', reason: 'refused' })
    expect(when({ outcome: paid }, { minedFailures: 2 })).toMatchObject({ kind: 'confirm' })
  })

  test('paid by somebody, it is confirmed, at whatever time and whatever the token says now', () => {
    const arrival = { transaction: HASH, blockNumber: 7, blockHash: BLOCK }
    for (const chain of [{}, { blockTime: 9_999 }, refusing('blacklisted')]) {
      expect(when({ ...chain, outcome: paid })).toEqual({
        kind: 'confirm',
        arrival: { ...arrival, by: 'other' },
      })
    }
    expect(when({ outcome: paid }, { broadcasts: ['0x1', HASH] })).toMatchObject({ arrival: { by: 'own' } })
    expect(when({ outcome: paid }, { wasForwarded: true })).toMatchObject({ arrival: { by: 'facilitator' } })
  })

  test('cancelled, it never comes', () => {
    expect(when({ outcome: { kind: 'cancelled', transaction: HASH } })).toMatchObject({
      kind: 'uncollectable',
      reason: 'cancelled',
    })
  })

  test('its times are exclusive, as the token has them', () => {
    expect(when({ blockTime: 1_000 })).toEqual({ kind: 'wait' })
    expect(when({ blockTime: 1_001 })).toMatchObject({ kind: 'send' })
    expect(when({ blockTime: 1_999 })).toMatchObject({ kind: 'send' })
    expect(when({ blockTime: 2_000 })).toEqual({ kind: 'wait' })
  })

  test('past its end it is told as expired a minute later only: another node may lag', () => {
    expect(when({ blockTime: 2_059 })).toEqual({ kind: 'wait' })
    expect(when({ blockTime: 2_059, outcome: paid })).toMatchObject({ kind: 'confirm' })
    expect(when({ blockTime: 2_060 })).toMatchObject({ kind: 'uncollectable', reason: 'expired' })
  })

  test.each(['insufficient_funds', 'blacklisted', 'contract_account'] as const)(
    '%s is tried again, and told when nobody waits any more, or the authorization has ended',
    (reason) => {
      expect(when(refusing(reason))).toEqual({ kind: 'refused', reason })
      expect(when(refusing(reason), { isGivenUp: true })).toMatchObject({ kind: 'uncollectable', reason })
      expect(when({ ...refusing('expired'), blockTime: 2_060 }, { lastReason: reason })).toMatchObject({
        kind: 'uncollectable',
        reason,
      })
    },
  )

  test('a refusal in words that nobody knows is tried again, and told as expired in the end', () => {
    expect(when(refusing('other'))).toEqual({ kind: 'refused', reason: 'other: its words' })
    expect(when({ blockTime: 2_060 }, { lastReason: 'other: its words' })).toMatchObject({
      reason: 'expired',
    })
  })

  test('a signature that the token does not take is the end', () => {
    expect(when(refusing('invalid_signature'))).toEqual({
      kind: 'uncollectable',
      reason: 'refused',
      detail: 'its words',
    })
  })

  test.each(['used', 'expired', 'not_yet_valid'] as const)(
    'the token says %s, and the logs and the clock do not yet: it is looked at again',
    (reason) => {
      expect(when(refusing(reason))).toEqual({ kind: 'wait' })
    },
  )
})

describe('given a payment whose transaction was sent', () => {
  const sent = { ...owed, state: 'broadcast', broadcasts: [HASH] } as const

  test('it is waited for while the node has it, and replaced when that takes too long', () => {
    expect(decideSettlement(sent, { ...fine, transaction: 'pending' })).toEqual({ kind: 'wait' })
    expect(decideSettlement({ ...sent, isOverdue: true }, { ...fine, transaction: 'pending' })).toMatchObject(
      {
        kind: 'send',
      },
    )
  })

  test.each(['missing', 'mined'] as const)(
    '%s, and the authorization unused: it is sent anew',
    (transaction) => {
      expect(decideSettlement(sent, { ...fine, transaction })).toMatchObject({ kind: 'send' })
    },
  )

  test('pending past the end of the authorization, it cannot bring anything any more', () => {
    const view = { ...fine, transaction: 'pending', blockTime: 2_060 } as const
    expect(decideSettlement(sent, view)).toMatchObject({ kind: 'uncollectable', reason: 'expired' })
  })
})

describe('finality', () => {
  const settled = { blockNumber: 7, blockHash: BLOCK }
  test.each([
    ['its block is there and final', BLOCK, 7, 'final'],
    ['its block is there and may be undone', BLOCK, 6, 'wait'],
    ['another block has its number', HASH, 6, 'reorged'],
    ['another block has its number, and is final', HASH, 9, 'reorged'],
    ['no block has its number, on a node that lags or a chain that was cut', undefined, 9, 'wait'],
  ] as const)('%s', (_, hashNow, finalBlock, finality) => {
    expect(decideFinality(settled, hashNow, finalBlock)).toBe(finality)
  })
})
