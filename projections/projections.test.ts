import { describe, expect, test } from 'vitest'
import { RACE_OUTCOMES } from '../contracts/domain/outcome.ts'
import { HOUR_MS } from '../contracts/domain/timeframes.ts'
import { CALLS, REGIMES } from '../contracts/domain/verdict.ts'
import { AccountErased, AccountOpened, KeyIssued } from '../contracts/events/account-events.ts'
import { newEvent } from '../contracts/events/event-definition.ts'
import { LogKeysPublished } from '../contracts/events/proof-events.ts'
import { LOG_KEYS_STREAM } from '../contracts/events/streams.ts'
import { SubscriptionCreated } from '../contracts/events/subscription-events.ts'
import { jsonFault } from '../contracts/infra/json.ts'
import { LIMITS } from '../contracts/limits.ts'
import { payments } from '../services/payments/payments-projection.ts'
import {
  accountFact,
  chatAnswered,
  fold,
  given,
  outcomeLabelled,
  paymentFact,
  quotaDebited,
  subscriptionFact,
  verdictRecorded,
} from './given-events.fixture.ts'
import { PROJECTIONS } from './index.ts'

/** Payments that are settled, uncollectable and open, of a payer that is blocked. */
const PAYMENTS = ['b1', 'b2', 'b3'].flatMap((end, n) => {
  const paymentId = `0190a000-0000-7000-8000-0000000000${end}`
  const transaction = `0x${end.repeat(32)}`
  return [
    paymentFact('PaymentClaimed', { paymentId, isServedFirst: n !== 2 }),
    paymentFact('SettlementRequested', { paymentId, attempt: 1, settler: 'facilitator' }),
    ...(n === 0
      ? [
          paymentFact('SettlementConfirmed', {
            paymentId,
            transaction,
            by: 'facilitator',
            blockNumber: 7,
            blockHash: transaction,
          }),
          paymentFact('SettlementFinalised', { paymentId, transaction, blockNumber: 7 }),
        ]
      : []),
    ...(n === 1 ? [paymentFact('PaymentUncollectable', { paymentId, reason: 'cancelled', detail: '' })] : []),
  ]
})

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
      outcomeLabelled({ coin, barClose, call, race: RACE_OUTCOMES[n % 3] ?? 'timeout' }),
      chatAnswered({ used: n + 1, idempotencyHash: String(n % 10).repeat(64) }),
      quotaDebited({ used: n + 1, usedToday: n + 1, idempotencyHash: String(n % 10).repeat(64) }),
    ]
  }).flat(),
  ...PAYMENTS,
  {
    stream: LOG_KEYS_STREAM,
    event: newEvent(LogKeysPublished, {
      id: '019abcde-7c00-7001-8000-0000000000b7',
      data: { origin: 'log', vkeys: ['log+00000000+AAAA'], reason: 'first keys', leaves: null },
      meta: { correlationId: 'test', actor: 'test' },
    }),
  },
  subscriptionFact(SubscriptionCreated, {
    subscriptionId: '019abcde-7c00-7001-8000-0000000000b1',
    accountId: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
    generation: 0,
    sealedUrl: 'v1.url',
    sending: { perSecond: null, inOrder: false },
    sealedSecret: 'v1.secret',
    filter: {
      events: ['trade_call'],
      timeframes: null,
      assets: null,
      exchanges: null,
      digest: null,
      minConfidence: 0,
      minStrength: 0,
      onlyChanges: false,
    },
    startAfter: 'start',
  }),
  ...['5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55', '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c56'].flatMap((accountId) => [
    accountFact(AccountOpened, { accountId, generation: 0, sealedEmail: 'v1.sealed' }),
    accountFact(KeyIssued, {
      accountId,
      keyId: accountId,
      keyHash: accountId.replaceAll('-', '').repeat(2),
      hint: 'sk_live_abcd…',
      label: null,
    }),
    ...(accountId.endsWith('6') ? [accountFact(AccountErased, { accountId, generation: 0 })] : []),
  ]),
)

test('every projection has a name of its own', () => {
  expect(new Set(PROJECTIONS.map(({ name }) => name)).size).toBe(PROJECTIONS.length)
})

describe.each([...PROJECTIONS, payments])('projection $name', (projection) => {
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
