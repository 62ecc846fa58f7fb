import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { BASE } from './chain.ts'
import { ServiceError } from './errors.ts'
import { eventMetaSchema, type RecordedEvent } from './event.ts'
import { decodeEvent, EVENT_CATALOGUE, type EventType } from './event-catalogue.ts'
import { canonicalJson, type Json, type JsonObject, jsonFault } from './json.ts'
import { LIMITS } from './limits.ts'
import { isPosition } from './position.ts'
import {
  accountStream,
  chatStream,
  deliveryStream,
  isStreamName,
  LOG_ANCHORS_STREAM,
  LOG_CHECKPOINTS_STREAM,
  LOG_COSIGNATURES_STREAM,
  LOG_KEYS_STREAM,
  leaseStream,
  MARKET_CLOCK_STREAM,
  MARKET_RUNS_STREAM,
  modelStream,
  monitoredStream,
  noticeStream,
  outcomeStream,
  paymentStream,
  quotaStream,
  STORE_DRILLS_STREAM,
  STORE_IDENTITY_STREAM,
  STORE_LOSSES_STREAM,
  scanStream,
  sealedStream,
  speechStream,
  subjectStream,
  subscriptionStream,
  universeStream,
  verdictStream,
  WEBHOOK_HOSTS_STREAM,
} from './streams.ts'
import { AS_IT_COMES } from './subscription.ts'

/** One recorded event as a log holds it, per event type and schema version that was ever written. */
const FIXTURES = join(import.meta.dirname, 'fixtures')

/**
 * The hash of each fixture as canonical JSON, so that white space and line ends do not matter. A released fixture never changes: a
 * new schema version gets a new one.
 */
const SHA256: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(join(import.meta.dirname, 'released-fixtures.json'), 'utf8'),
)

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
  [STORE_IDENTITY_STREAM, 'LogFormatRaised StoreInitialised'],
  [STORE_LOSSES_STREAM, 'LogEndLost'],
  [STORE_DRILLS_STREAM, 'BackupDrilled'],
  [MARKET_RUNS_STREAM, 'MarketClockRun'],
  [modelStream('barrier-3'), 'ModelAnnounced'],
  [monitoredStream('HL'), 'MonitoringChanged'],
  [LOG_KEYS_STREAM, 'LogKeysPublished'],
  [LOG_CHECKPOINTS_STREAM, 'CheckpointSigned'],
  [LOG_COSIGNATURES_STREAM, 'CheckpointCosigned'],
  [LOG_ANCHORS_STREAM, 'CheckpointAnchored CheckpointTimestamped'],
  [sealedStream('HL'), 'DaySealed'],
  [MARKET_CLOCK_STREAM, 'MarketClockAnchored'],
  [verdictStream(SERIES), 'VerdictRecorded VerdictsMissing RegimeShifted'],
  [speechStream('barrier-3', '1h'), 'SpeechWithdrawn SpeechRestored'],
  [outcomeStream(SERIES), 'OutcomeLabelled'],
  [universeStream('HL'), 'UniverseRanked'],
  [scanStream('HL', '1h'), 'ScanCompleted'],
  [subjectStream(ACCOUNT, 0), 'SubjectKeyCreated'],
  [
    accountStream(ACCOUNT),
    'AccountOpened SignInRequested SignInConfirmed KeyIssued KeyRevoked PlanStarted PlanEnded AccountErased SessionBegun SessionSeen SessionEnded AppAuthorized AppTokenIssued AppEnded SubscriptionSlotTaken SubscriptionSlotFreed OwnerMailed',
  ],
  [quotaStream(ACCOUNT, '2025-01'), 'QuotaDebited'],
  [chatStream(ACCOUNT, '2025-01'), 'ChatReserved ChatAnswered'],
  [
    PAYMENT_STREAM,
    'PaymentClaimed SettlementRequested SettlementBroadcast SettlementFailed SettlementUnknown SettlementConfirmed SettlementFinalised SettlementReorged PaymentUncollectable RefundSent',
  ],
  [leaseStream('dispatcher'), 'LeaseTaken LeaseReleased'],
  [noticeStream('019abcde-7c00-7001-8000-0000000000c1'), 'OwnerNotified'],
  [deliveryStream(SUBSCRIPTION), 'CursorTaken DeliveriesAttempted CursorMoved'],
  [
    subscriptionStream(SUBSCRIPTION),
    'SubscriptionCreated SubscriptionChanged EndpointChanged SecretRotated SubscriptionPaused SubscriptionResumed SubscriptionDegraded SubscriptionRecovered SubscriptionDisabled SubscriptionAllowed SecretOverlapEnded ReplayRequested ReplayCancelled SubscriptionRemoved',
  ],
  [WEBHOOK_HOSTS_STREAM, 'WebhookHostBlocked WebhookHostAllowed'],
]
/** The stream of each type. */
const STREAMS: ReadonlyMap<string, string> = new Map(
  TYPES_IN.flatMap(([stream, types]) => types.split(' ').map((type) => [type, stream] as const)),
)

/** The results of a replay's deliveries were not counted at first. */
const countedReplays = ({ state }: JsonObject) => {
  const { replays, ...rest } = state as JsonObject & { readonly replays: readonly JsonObject[] }
  return { state: { ...rest, replays: replays.map((one) => ({ ...one, delivered: 0, exhausted: 0 })) } }
}

/** The members that reading adds to data of a former schema, or changes; a removed one is undefined. */
const UPCAST: Readonly<Record<string, (data: JsonObject) => Readonly<Record<string, unknown>>>> = {
  'VerdictRecorded.v1.json': () => ({ forecast: null, previous: null, recordedLate: false }),
  'VerdictRecorded.v2.json': () => ({ forecast: null }),
  'VerdictRecorded.v3.json': () => ({}),
  'VerdictRecorded.v4.json': () => ({}),
  'OutcomeLabelled.v1.json': () => ({ forecast: null, closePrice: null, recordedLate: false }),
  'OutcomeLabelled.v2.json': () => ({ forecast: null, closePrice: null }),
  'OutcomeLabelled.v3.json': () => ({}),
  'KeyIssued.v1.json': () => ({ label: { text: 'bot “eins”' } }),
  'SubscriptionCreated.v1.json': () => ({ form: null, origin: undefined, sending: AS_IT_COMES }),
  'SubscriptionCreated.v2.json': () => ({ form: null, sending: AS_IT_COMES }),
  'SubscriptionCreated.v3.json': () => ({ sending: AS_IT_COMES }),
  'OwnerNotified.v1.json': () => ({ stage: 'sent' }),
  'SubscriptionDisabled.v1.json': () => ({ by: 'endpoint' }),
  'ReplayRequested.v1.json': () => ({ only: 'all', deliveries: 5 }),
  'CursorTaken.v1.json': countedReplays,
  'CursorMoved.v1.json': countedReplays,
  'DeliveriesAttempted.v1.json': ({ attempts }) => ({
    attempts: (attempts as JsonObject[]).map(({ detail, ...attempt }) => ({
      ...attempt,
      detail: detail === null ? null : { text: detail },
    })),
  }),
}

const readFixture = (name: string): RecordedEvent =>
  JSON.parse(readFileSync(join(FIXTURES, name), 'utf8')) as RecordedEvent

test('every event type has a fixture of every schema version it was stored in', () => {
  const expected = Object.values(EVENT_CATALOGUE).flatMap(({ type, schema }) =>
    Array.from({ length: schema }, (_, index) => `${type}.v${index + 1}.json`),
  )
  expect(readdirSync(FIXTURES).toSorted()).toEqual(expected.toSorted())
  expect([...STREAMS.keys()].toSorted()).toEqual(Object.keys(EVENT_CATALOGUE).toSorted())
  expect(Object.keys(SHA256).toSorted()).toEqual(expected.toSorted())
})

test('every definition is filed under its own type', () => {
  for (const [name, { type }] of Object.entries(EVENT_CATALOGUE)) expect(type).toBe(name)
})

describe.each(readdirSync(FIXTURES))('fixture %s', (name) => {
  const fixture = readFixture(name)

  test('is what it was when it was released', () => {
    const text = canonicalJson(fixture as unknown as Json)
    expect(createHash('sha256').update(text).digest('hex')).toBe(SHA256[name])
  })

  test('is an event that a log would take, named after its type and schema', () => {
    expect(`${fixture.type}.v${fixture.schema}.json`).toBe(name)
    expect(fixture.stream).toBe(STREAMS.get(fixture.type))
    expect(isStreamName(fixture.stream)).toBe(true)
    expect(isPosition(fixture.position)).toBe(true)
    expect(new Date(fixture.at).toISOString()).toBe(fixture.at)
    expect(eventMetaSchema.parse(fixture.meta)).toEqual(fixture.meta)
    expect(jsonFault(fixture.data, LIMITS.jsonDepth)).toBeUndefined()
  })

  test('decodes to the current schema', () => {
    const { type, schema, data } = EVENT_CATALOGUE[fixture.type as EventType]
    const decoded = decodeEvent(fixture)
    const upcast = UPCAST[name]
    expect(upcast !== undefined).toBe(fixture.schema < schema)
    const current = { ...fixture.data, ...upcast?.(fixture.data) }
    expect(decoded).toEqual({ ...fixture, type, schema, data: current })
    // Decoding trusts what is already current; a schema that no longer takes it needs a new version.
    // A field that releases up to 0.2 recorded is passed over.
    const { closesHigher: _retired, ...kept } = current as JsonObject
    expect(data.parse(decoded.data)).toEqual(kept)
  })
})

describe('decodeEvent', () => {
  const event = readFixture('StoreInitialised.v1.json')

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
