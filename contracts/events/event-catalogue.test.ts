import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { BASE } from '../domain/chain.ts'
import { ServiceError } from '../errors/errors.ts'
import { eventMetaSchema, type RecordedEvent } from '../infra/event.ts'
import { jsonFault } from '../infra/json.ts'
import { isPosition } from '../infra/position.ts'
import { LIMITS } from '../limits.ts'
import { decodeEvent, EVENT_CATALOGUE, type EventType } from './event-catalogue.ts'
import {
  accountStream,
  chatStream,
  deliveryStream,
  isStreamName,
  LOG_CHECKPOINTS_STREAM,
  LOG_KEYS_STREAM,
  leaseStream,
  MARKET_CLOCK_STREAM,
  MARKET_RUNS_STREAM,
  modelStream,
  monitoredStream,
  outcomeStream,
  paymentStream,
  quotaStream,
  STORE_IDENTITY_STREAM,
  STORE_LOSSES_STREAM,
  scanStream,
  sealedStream,
  subjectStream,
  subscriptionStream,
  universeStream,
  verdictStream,
} from './streams.ts'

/** One recorded event as a log holds it, per event type and schema version that was ever written. */
const FIXTURES = join(import.meta.dirname, 'fixtures')

const ACCOUNT = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
const SUBSCRIPTION = '7b1e4c90-2f3a-8d56-b1c7-90ab34cd56ef'
const PAYER = '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf'
const PAYMENT_STREAM = paymentStream({
  chainId: BASE.id,
  contract: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  payer: PAYER,
  nonce: `0x${'2a'.padStart(64, '0')}`,
})
const SERIES = { exchange: 'BINANCE', coin: '1000PEPE', timeframe: '4h' } as const

/** The types of events in each stream of the fixtures. */
const TYPES_IN: readonly (readonly [stream: string, types: string])[] = [
  [STORE_IDENTITY_STREAM, 'LogBegun'],
  [STORE_LOSSES_STREAM, 'LogEndLost'],
  [MARKET_RUNS_STREAM, 'MarketClockRun'],
  [modelStream('barrier-3'), 'ModelAnnounced'],
  [monitoredStream('HL'), 'MonitoringChanged'],
  [LOG_KEYS_STREAM, 'LogKeysPublished'],
  [LOG_CHECKPOINTS_STREAM, 'CheckpointSigned'],
  [sealedStream('HL'), 'DaySealed'],
  [MARKET_CLOCK_STREAM, 'MarketClockAnchored'],
  [verdictStream(SERIES), 'VerdictRecorded'],
  [outcomeStream(SERIES), 'OutcomeLabelled'],
  [universeStream('HL'), 'UniverseRanked'],
  [scanStream('HL', '1h'), 'ScanCompleted'],
  [subjectStream(ACCOUNT, 0), 'SubjectKeyCreated'],
  [
    accountStream(ACCOUNT),
    'AccountOpened SignInRequested SignInConfirmed KeyIssued KeyRevoked PlanStarted PlanEnded AccountErased SessionsEnded AppAuthorized AppTokenIssued AppEnded SubscriptionSlotTaken SubscriptionSlotFreed OwnerMailed',
  ],
  [quotaStream(ACCOUNT, '2025-01'), 'QuotaDebited'],
  [chatStream(ACCOUNT, '2025-01'), 'ChatAnswered'],
  [
    PAYMENT_STREAM,
    'PaymentClaimed SettlementRequested SettlementBroadcast SettlementFailed SettlementUnknown SettlementConfirmed SettlementFinalised SettlementReorged PaymentUncollectable RefundSent',
  ],
  [leaseStream('dispatcher'), 'LeaseTaken LeaseReleased'],
  [deliveryStream(SUBSCRIPTION), 'CursorTaken DeliveriesAttempted CursorMoved'],
  [
    subscriptionStream(SUBSCRIPTION),
    'SubscriptionCreated SubscriptionChanged EndpointChanged SecretRotated SubscriptionPaused SubscriptionResumed SubscriptionDisabled SubscriptionAllowed SubscriptionRemoved RecoveryRequested',
  ],
]
/** The stream of each type. */
const STREAMS: ReadonlyMap<string, string> = new Map(
  TYPES_IN.flatMap(([stream, types]) => types.split(' ').map((type) => [type, stream] as const)),
)

const readFixture = (name: string): RecordedEvent =>
  JSON.parse(readFileSync(join(FIXTURES, name), 'utf8')) as RecordedEvent

test('every event type has a fixture of every schema version it was stored in', () => {
  const expected = Object.values(EVENT_CATALOGUE).flatMap(({ type, schema }) =>
    Array.from({ length: schema }, (_, index) => `${type}.v${index + 1}.json`),
  )
  expect(readdirSync(FIXTURES).toSorted()).toEqual(expected.toSorted())
  expect([...STREAMS.keys()].toSorted()).toEqual(Object.keys(EVENT_CATALOGUE).toSorted())
})

test('every definition is filed under its own type', () => {
  for (const [name, { type }] of Object.entries(EVENT_CATALOGUE)) expect(type).toBe(name)
})

describe.each(readdirSync(FIXTURES))('fixture %s', (name) => {
  const fixture = readFixture(name)

  test('is an event that a log would take, named after its type and schema', () => {
    expect(`${fixture.type}.v${fixture.schema}.json`).toBe(name)
    expect(fixture.stream).toBe(STREAMS.get(fixture.type))
    expect(isStreamName(fixture.stream)).toBe(true)
    expect(isPosition(fixture.position)).toBe(true)
    expect(new Date(fixture.at).toISOString()).toBe(fixture.at)
    expect(eventMetaSchema.parse(fixture.meta)).toEqual(fixture.meta)
    expect(jsonFault(fixture.data, LIMITS.jsonDepth)).toBeUndefined()
  })

  test('decodes to itself, and holds what its schema takes', () => {
    expect(decodeEvent(fixture)).toEqual(fixture)
    expect(EVENT_CATALOGUE[fixture.type as EventType].data.parse(fixture.data)).toEqual(fixture.data)
  })
})

test('every event has one schema, the first', () => {
  for (const { type, schema, upcast } of Object.values(EVENT_CATALOGUE))
    expect([type, schema, upcast]).toEqual([type, 1, undefined])
})

describe('decodeEvent', () => {
  const event = readFixture('LogBegun.v1.json')

  test.each(['VerdictForgotten', 'storeinitialised', '', 'constructor', '__proto__', 'toString'])(
    'refuses the unknown type %j and says where it met it',
    (type) => {
      const decode = () => decodeEvent({ ...event, type, position: '4711' })
      expect(decode).toThrow(ServiceError)
      expect(decode).toThrow(
        expect.objectContaining({
          code: 'event_unreadable',
          message: `event type ${type} at position 4711 is not known to this release`,
        }),
      )
    },
  )

  test.each(Object.values(EVENT_CATALOGUE))('refuses $type of a newer release', ({ type, schema }) => {
    expect(() => decodeEvent({ ...event, type, schema: schema + 1 })).toThrow(
      expect.objectContaining({ code: 'event_unreadable' }),
    )
  })
})
