import { describe, expect, test } from 'vitest'
import type { AuthorizationOutcome } from '../chain/chain.ts'
import { decideGatewaySettlement, decideSettlement, type SettlementInput } from './decide-settlement.ts'

const HASH = `0x${'ab'.repeat(32)}` as const
const BLOCK = `0x${'cd'.repeat(32)}` as const
const NOW = 1_500_000

const owed: SettlementInput = {
  payment: { attempts: 0, changedAtMs: NOW, state: 'owed', transaction: null, validBeforeS: 2_000 },
  authorization: { validAfter: 1_000n, validBefore: 2_000n },
  lastReason: null,
  wasInDoubt: false,
}
const paid: AuthorizationOutcome = { kind: 'paid', transaction: HASH, blockNumber: 7, blockHash: BLOCK }

describe('a payment on the chain', () => {
  const when = (
    blockTime: number,
    {
      outcome = { kind: 'unused' },
      ...change
    }: Partial<SettlementInput> & { outcome?: AuthorizationOutcome } = {},
    now = NOW,
  ) => decideSettlement({ ...owed, ...change }, { blockTime, outcome }, { now, pendingMs: 400 })

  test('that is owed is requested', () => {
    expect(when(1_500)).toEqual({ kind: 'request' })
  })

  test('paid by somebody, it is confirmed at any time', () => {
    const arrival = { transaction: HASH, blockNumber: 7, blockHash: BLOCK, by: 'other' }
    for (const blockTime of [1_500, 2_059, 9_999])
      expect(when(blockTime, { outcome: paid })).toEqual({ kind: 'confirm', arrival })
    const requested = { ...owed.payment, attempts: 1 }
    expect(when(1_500, { outcome: paid, payment: requested })).toMatchObject({
      arrival: { by: 'facilitator' },
    })
  })

  test('cancelled, it never comes', () => {
    expect(when(1_500, { outcome: { kind: 'cancelled', transaction: HASH } })).toMatchObject({
      kind: 'uncollectable',
      reason: 'cancelled',
    })
  })

  test('its times are exclusive, as the token has them', () => {
    const kinds = [1_000, 1_001, 1_999, 2_000].map((blockTime) => when(blockTime).kind)
    expect(kinds).toEqual(['wait', 'request', 'request', 'wait'])
  })

  test('past its end it is given up a minute later only: another node may lag', () => {
    expect(when(2_059)).toEqual({ kind: 'wait' })
    expect(when(2_060)).toMatchObject({ kind: 'uncollectable', reason: 'expired' })
    expect(when(2_060, { lastReason: 'insufficient_funds' })).toMatchObject({ reason: 'insufficient_funds' })
    expect(when(2_060, { lastReason: 'refused: its words' })).toMatchObject({
      reason: 'expired',
      detail: expect.stringContaining('its words'),
    })
  })

  test('a transaction that the facilitator named is waited for, and requested anew when that takes too long', () => {
    const payment = { ...owed.payment, state: 'broadcast', transaction: HASH, attempts: 1 } as const
    expect(when(1_500, { payment }, NOW + 399)).toEqual({ kind: 'wait' })
    expect(when(1_500, { payment }, NOW + 400)).toEqual({ kind: 'request' })
    expect(when(2_060, { payment })).toMatchObject({ kind: 'uncollectable', reason: 'expired' })
  })
})

describe('a payment at the gateway', () => {
  const unknown = { ...owed.payment, state: 'unknown', attempts: 1 } as const
  test.each([
    ['that is not valid yet waits', owed, undefined, 1_000_000, { kind: 'wait' }],
    [
      'that is owed is requested, also a little past its end',
      owed,
      undefined,
      2_059_999,
      { kind: 'request' },
    ],
    ['that was never in doubt has expired', owed, undefined, 2_060_000, { reason: 'expired' }],
    [
      'that is in doubt at its end is for the operator',
      { ...owed, payment: unknown },
      undefined,
      2_060_000,
      { kind: 'uncollectable', reason: 'unclear' },
    ],
    [
      'whose transfer is shown is confirmed',
      { ...owed, payment: unknown },
      'c1f0',
      9_999_999,
      { kind: 'confirm', arrival: { transaction: 'c1f0', by: 'gateway', blockNumber: null } },
    ],
  ] as const)('%s', (_, input, transfer, now, step) => {
    expect(decideGatewaySettlement(input, transfer, now)).toMatchObject(step)
  })
})
