import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CHAIN_ID } from './chain.ts'
import { ServiceError } from './errors.ts'
import { eventMetaSchema, type RecordedEvent } from './event.ts'
import { decodeEvent, EVENT_CATALOGUE, type EventType } from './event-catalogue.ts'
import { canonicalJson, type Json, type JsonObject, jsonFault } from './json.ts'
import { LIMITS } from './limits.ts'
import { isPosition } from './position.ts'
import {
  accountStream,
  challengerStream,
  chatStream,
  creditStream,
  deliveryStream,
  isStreamName,
  LOG_ANCHORS_STREAM,
  LOG_CHECKPOINTS_STREAM,
  LOG_COSIGNATURES_STREAM,
  LOG_KEYS_STREAM,
  leaseStream,
  MARKET_CLOCK_STREAM,
  MODEL_CHOICE_STREAM,
  modelStream,
  monitoredStream,
  noticeStream,
  outcomeStream,
  payerStream,
  paymentIdentifierStream,
  paymentStream,
  quotaStream,
  refundStream,
  refundsOfDayStream,
  STORE_IDENTITY_STREAM,
  scanStream,
  sealedStream,
  speechStream,
  subjectStream,
  subscriptionStream,
  universeStream,
  verdictStream,
  WEBHOOK_HOSTS_STREAM,
} from './streams.ts'

/** One recorded event as a log holds it, per event type and schema version that was ever written. */
const FIXTURES = join(import.meta.dirname, 'fixtures')

/**
 * Of each fixture as canonical JSON, so that white space and line ends do not matter. A released fixture never changes: a
 * new schema version gets a new one.
 */
const SHA256: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(join(import.meta.dirname, 'released-fixtures.json'), 'utf8'),
)

const ACCOUNT = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
const SUBSCRIPTION = '7b1e4c90-2f3a-8d56-b1c7-90ab34cd56ef'
const PAYER = '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf'
const PAYMENT_STREAM = paymentStream({
  chainId: CHAIN_ID,
  contract: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  payer: PAYER,
  nonce: `0x${'2a'.padStart(64, '0')}`,
})
const SERIES = { exchange: 'BINANCE', coin: '1000PEPE', timeframe: '4h' } as const

/** Whose stream each fixture is in. */
const STREAMS: Readonly<Record<string, string>> = {
  'LogFormatRaised.v1.json': STORE_IDENTITY_STREAM,
  'StoreInitialised.v1.json': STORE_IDENTITY_STREAM,
  'ModelAnnounced.v1.json': modelStream('barrier-3'),
  'MonitoringChanged.v1.json': monitoredStream('HL'),
  'LogKeysPublished.v1.json': LOG_KEYS_STREAM,
  'CheckpointSigned.v1.json': LOG_CHECKPOINTS_STREAM,
  'CheckpointCosigned.v1.json': LOG_COSIGNATURES_STREAM,
  'CheckpointAnchored.v1.json': LOG_ANCHORS_STREAM,
  'CheckpointTimestamped.v1.json': LOG_ANCHORS_STREAM,
  'DaySealed.v1.json': sealedStream('HL'),
  'MarketClockAnchored.v1.json': MARKET_CLOCK_STREAM,
  'VerdictRecorded.v1.json': verdictStream(SERIES),
  'VerdictRecorded.v2.json': verdictStream(SERIES),
  'VerdictRecorded.v3.json': verdictStream(SERIES),
  'ChallengerVerdictRecorded.v1.json': challengerStream('first-1', SERIES),
  'ChallengerVerdictRecorded.v2.json': challengerStream('first-1', SERIES),
  'ModelChosen.v1.json': MODEL_CHOICE_STREAM,
  'VerdictsMissing.v1.json': verdictStream(SERIES),
  'SpeechWithdrawn.v1.json': speechStream('barrier-3', '1h'),
  'SpeechRestored.v1.json': speechStream('barrier-3', '1h'),
  'RegimeShifted.v1.json': verdictStream(SERIES),
  'OutcomeLabelled.v1.json': outcomeStream(SERIES),
  'OutcomeLabelled.v2.json': outcomeStream(SERIES),
  'OutcomeLabelled.v3.json': outcomeStream(SERIES),
  'UniverseRanked.v1.json': universeStream('HL'),
  'ScanCompleted.v1.json': scanStream('HL', '1h'),
  'SubjectKeyCreated.v1.json': subjectStream(ACCOUNT, 0),
  'AccountOpened.v1.json': accountStream(ACCOUNT),
  'SignInRequested.v1.json': accountStream(ACCOUNT),
  'SignInRequested.v2.json': accountStream(ACCOUNT),
  'SignInFailed.v1.json': accountStream(ACCOUNT),
  'SignInConfirmed.v1.json': accountStream(ACCOUNT),
  'KeyIssued.v1.json': accountStream(ACCOUNT),
  'KeyIssued.v2.json': accountStream(ACCOUNT),
  'KeyRevoked.v1.json': accountStream(ACCOUNT),
  'PlanStarted.v1.json': accountStream(ACCOUNT),
  'PlanEnded.v1.json': accountStream(ACCOUNT),
  'AccountErased.v1.json': accountStream(ACCOUNT),
  'AppAuthorized.v1.json': accountStream(ACCOUNT),
  'AppTokenIssued.v1.json': accountStream(ACCOUNT),
  'AppEnded.v1.json': accountStream(ACCOUNT),
  'MachineClientCreated.v1.json': accountStream(ACCOUNT),
  'MachineTokenIssued.v1.json': accountStream(ACCOUNT),
  'MachineClientRemoved.v1.json': accountStream(ACCOUNT),
  'QuotaDebited.v1.json': quotaStream(ACCOUNT, '2025-01'),
  'ChatReserved.v1.json': chatStream(ACCOUNT, '2025-01'),
  'ChatAnswered.v1.json': chatStream(ACCOUNT, '2025-01'),
  'QuotaGranted.v1.json': quotaStream(ACCOUNT, '2025-01'),
  'PaymentClaimed.v1.json': PAYMENT_STREAM,
  'SettlementRequested.v1.json': PAYMENT_STREAM,
  'SettlementBroadcast.v1.json': PAYMENT_STREAM,
  'SettlementFailed.v1.json': PAYMENT_STREAM,
  'SettlementUnknown.v1.json': PAYMENT_STREAM,
  'SettlementConfirmed.v1.json': PAYMENT_STREAM,
  'SettlementFinalised.v1.json': PAYMENT_STREAM,
  'SettlementReorged.v1.json': PAYMENT_STREAM,
  'PaymentUncollectable.v1.json': PAYMENT_STREAM,
  'PaymentIdentified.v1.json': paymentIdentifierStream(
    '64ec1888b097e0111f00d61e787f3031e35a0cc05eef0073d38c579fa11cb6b6',
  ),
  'RefundSent.v1.json': PAYMENT_STREAM,
  'AnswerWithheld.v1.json': PAYMENT_STREAM,
  'AnswerGiven.v1.json': PAYMENT_STREAM,
  'RefundBegun.v1.json': PAYMENT_STREAM,
  'CreditApplied.v1.json': PAYMENT_STREAM,
  'RefundAllotted.v1.json': refundsOfDayStream('2025-01-01'),
  'RefundAuthorised.v1.json': refundStream('01941f29-7c00-7001-8000-000000000300'),
  'CreditGiven.v1.json': creditStream(CHAIN_ID, PAYER),
  'CreditUsed.v1.json': creditStream(CHAIN_ID, PAYER),
  'PayerBlocked.v1.json': payerStream(CHAIN_ID, PAYER),
  'PayerUnblocked.v1.json': payerStream(CHAIN_ID, PAYER),
  'LeaseTaken.v1.json': leaseStream('dispatcher'),
  'LeaseReleased.v1.json': leaseStream('dispatcher'),
  'OwnerNotified.v1.json': noticeStream('019abcde-7c00-7001-8000-0000000000c1'),
  'CursorTaken.v1.json': deliveryStream(SUBSCRIPTION),
  'CursorTaken.v2.json': deliveryStream(SUBSCRIPTION),
  'DeliveriesAttempted.v1.json': deliveryStream(SUBSCRIPTION),
  'DeliveriesAttempted.v2.json': deliveryStream(SUBSCRIPTION),
  'CursorMoved.v1.json': deliveryStream(SUBSCRIPTION),
  'CursorMoved.v2.json': deliveryStream(SUBSCRIPTION),
  'SubscriptionSlotTaken.v1.json': accountStream(ACCOUNT),
  'SubscriptionSlotFreed.v1.json': accountStream(ACCOUNT),
  'SubscriptionCreated.v1.json': subscriptionStream(SUBSCRIPTION),
  'SubscriptionCreated.v2.json': subscriptionStream(SUBSCRIPTION),
  'SubscriptionCreated.v3.json': subscriptionStream(SUBSCRIPTION),
  'SubscriptionChanged.v1.json': subscriptionStream(SUBSCRIPTION),
  'SecretRotated.v1.json': subscriptionStream(SUBSCRIPTION),
  'SubscriptionPaused.v1.json': subscriptionStream(SUBSCRIPTION),
  'SubscriptionResumed.v1.json': subscriptionStream(SUBSCRIPTION),
  'SubscriptionDegraded.v1.json': subscriptionStream(SUBSCRIPTION),
  'SubscriptionRecovered.v1.json': subscriptionStream(SUBSCRIPTION),
  'SubscriptionDisabled.v1.json': subscriptionStream(SUBSCRIPTION),
  'SubscriptionDisabled.v2.json': subscriptionStream(SUBSCRIPTION),
  'SubscriptionAllowed.v1.json': subscriptionStream(SUBSCRIPTION),
  'SecretOverlapEnded.v1.json': subscriptionStream(SUBSCRIPTION),
  'WebhookHostBlocked.v1.json': WEBHOOK_HOSTS_STREAM,
  'WebhookHostAllowed.v1.json': WEBHOOK_HOSTS_STREAM,
  'ReplayRequested.v1.json': subscriptionStream(SUBSCRIPTION),
  'ReplayRequested.v2.json': subscriptionStream(SUBSCRIPTION),
  'ReplayCancelled.v1.json': subscriptionStream(SUBSCRIPTION),
  'SubscriptionRemoved.v1.json': subscriptionStream(SUBSCRIPTION),
}

/** What became of the deliveries of a replay was not counted at first. */
const countedReplays = ({ state }: JsonObject) => {
  const { replays, ...rest } = state as JsonObject & { readonly replays: readonly JsonObject[] }
  return { state: { ...rest, replays: replays.map((one) => ({ ...one, delivered: 0, exhausted: 0 })) } }
}

/** What reading adds to data of a former schema, or changes of it; what is gone is undefined. */
const UPCAST: Readonly<Record<string, (data: JsonObject) => Readonly<Record<string, unknown>>>> = {
  'VerdictRecorded.v1.json': () => ({ forecast: null, previous: null, recordedLate: false }),
  'VerdictRecorded.v2.json': () => ({ forecast: null }),
  'ChallengerVerdictRecorded.v1.json': () => ({ forecast: null }),
  'OutcomeLabelled.v1.json': () => ({ forecast: null, closePrice: null, recordedLate: false }),
  'OutcomeLabelled.v2.json': () => ({ forecast: null, closePrice: null }),
  'SignInRequested.v1.json': () => ({ codeCharacters: 6 }),
  'KeyIssued.v1.json': () => ({ label: { text: 'bot “eins”' } }),
  'SubscriptionCreated.v1.json': () => ({ form: null, origin: undefined }),
  'SubscriptionCreated.v2.json': () => ({ form: null }),
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
  expect(Object.keys(STREAMS).toSorted()).toEqual(expected.toSorted())
  expect(Object.keys(SHA256).toSorted()).toEqual(expected.toSorted())
})

test('every definition is filed under its own type', () => {
  for (const [name, { type }] of Object.entries(EVENT_CATALOGUE)) expect(type).toBe(name)
})

describe.each(Object.entries(STREAMS))('fixture %s', (name, stream) => {
  const fixture = readFixture(name)

  test('is what it was when it was released', () => {
    const text = canonicalJson(fixture as unknown as Json)
    expect(createHash('sha256').update(text).digest('hex')).toBe(SHA256[name])
  })

  test('is an event that a log would take, named after its type and schema', () => {
    expect(`${fixture.type}.v${fixture.schema}.json`).toBe(name)
    expect(fixture.stream).toBe(stream)
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
    expect(data.parse(decoded.data)).toEqual(current)
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
