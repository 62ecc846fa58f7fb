import { describe, expect, test } from 'vitest'
import { AccountErased, AccountOpened, KeyIssued } from '../contracts/account-events.ts'
import { jsonFault } from '../contracts/json.ts'
import { LIMITS } from '../contracts/limits.ts'
import { RACE_OUTCOMES } from '../contracts/outcome.ts'
import { REGIMES } from '../contracts/regime.ts'
import { HOUR_MS } from '../contracts/timeframes.ts'
import { CALLS } from '../contracts/verdict.ts'
import {
  accountFact,
  fold,
  given,
  outcomeLabelled,
  quotaDebited,
  regimeShifted,
  verdictRecorded,
} from './given-events.fixture.ts'
import { PROJECTIONS } from './index.ts'

/** Verdicts with shifts and outcomes in three series, every call and every regime among them, and accounts. */
const HISTORY = given(
  ...Array.from({ length: 60 }, (_, n) => {
    const bar = {
      coin: ['BTC', 'ETH', 'SOL'][n % 3] ?? '',
      barClose: (n + 1) * HOUR_MS,
      call: CALLS[(n * 7) % CALLS.length] ?? 'HOLD',
      regime: REGIMES[n % REGIMES.length] ?? 'RANGING',
    }
    const { coin, barClose, call } = bar
    return [
      verdictRecorded(bar),
      regimeShifted(REGIMES[(n + 1) % REGIMES.length] ?? 'RANGING', bar),
      outcomeLabelled({ coin, barClose, call, race: RACE_OUTCOMES[n % 3] ?? 'timeout' }),
      quotaDebited({ used: n + 1, usedToday: n + 1, idempotencyHash: String(n % 10).repeat(64) }),
    ]
  }).flat(),
  ...['5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55', '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c56'].flatMap((accountId) => [
    accountFact(AccountOpened, { accountId, generation: 0, sealedEmail: 'v1.sealed' }),
    accountFact(KeyIssued, {
      accountId,
      keyId: accountId,
      keyHash: accountId.replaceAll('-', '').repeat(2),
      hint: 'sk_live_abcd…',
      label: '',
    }),
    ...(accountId.endsWith('6') ? [accountFact(AccountErased, { accountId, generation: 0 })] : []),
  ]),
)

test('every projection has a name of its own', () => {
  expect(new Set(PROJECTIONS.map(({ name }) => name)).size).toBe(PROJECTIONS.length)
})

describe.each(PROJECTIONS)('projection $name', (projection) => {
  test('is named and numbered as part of a table name', () => {
    expect(projection.name).toMatch(/^[a-z]+(?:_[a-z]+)*$/)
    expect(Number.isSafeInteger(projection.version) && projection.version >= 1).toBe(true)
  })

  test('makes rows of the events it names, and of no others', () => {
    const isNamed = (type: string): boolean => (projection.events as readonly string[]).includes(type)
    const rows = fold(projection, HISTORY)
    expect(Object.keys(rows).length).toBeGreaterThan(0)
    expect(
      fold(
        projection,
        HISTORY.filter(({ type }) => isNamed(type)),
      ),
    ).toEqual(rows)
    expect(
      fold(
        projection,
        HISTORY.filter(({ type }) => !isNamed(type)),
      ),
    ).toEqual({})
  })

  test('makes rows that can be stored and read back', () => {
    for (const [key, row] of Object.entries(fold(projection, HISTORY))) {
      expect(jsonFault(row, LIMITS.jsonDepth), key).toBeUndefined()
    }
  })
})
