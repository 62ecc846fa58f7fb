import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ServiceError } from './errors.ts'
import { eventMetaSchema, type RecordedEvent } from './event.ts'
import { decodeEvent, EVENT_CATALOGUE, type EventType } from './event-catalogue.ts'
import { canonicalJson, type Json, type JsonObject, jsonFault } from './json.ts'
import { LIMITS } from './limits.ts'
import { isPosition } from './position.ts'
import {
  accountStream,
  isStreamName,
  MARKET_CLOCK_STREAM,
  outcomeStream,
  quotaStream,
  STORE_IDENTITY_STREAM,
  subjectStream,
  universeStream,
  verdictStream,
} from './streams.ts'

/** One recorded event as a log holds it, per event type and schema version that was ever written. */
const FIXTURES = join(import.meta.dirname, 'fixtures')

/** What a fixture is held to. A released fixture never changes: a new schema version gets a new one. */
interface Golden {
  /** Of the fixture as canonical JSON, so that white space and line ends do not matter. */
  readonly sha256: string
  readonly stream: string
  /** Its data in the current schema. */
  readonly current: JsonObject
}

const ACCOUNT = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
const SERIES = { exchange: 'BINANCE', coin: '1000PEPE', timeframe: '4h' } as const

const GOLDEN: Readonly<Record<string, Golden>> = {
  'StoreInitialised.v1.json': {
    sha256: 'f12924d566688e2160e3c53cd28b1f217adfd8463208c869ed608e5d939f63e1',
    stream: STORE_IDENTITY_STREAM,
    current: {
      market: 'simulated',
      seed: 'first',
      secretFingerprint: '4f8b42c22dd3729b519ba6f68d2da7cc5b2d606d05daed5ad5128cc03e6c6358',
    },
  },
  'MarketClockAnchored.v1.json': {
    sha256: '4cd31c5d318618747cf2d09e88b361e612990403aca9c599c1e80e77192f4836',
    stream: MARKET_CLOCK_STREAM,
    current: { wallTime: 1_735_689_600_010, marketTime: 1_704_067_200_000, speed: 0.5 },
  },
  'VerdictRecorded.v1.json': {
    sha256: 'd33f309c964999760e16148bb95e8882c97c9c6adc835a9cd624387857874fb7',
    stream: verdictStream(SERIES),
    current: {
      ...SERIES,
      verdictId: '6d0a3b52-9c1e-8f47-a2d3-5b7e9014c6f8',
      barClose: Date.UTC(2025, 0, 1, 4),
      validUntil: Date.UTC(2025, 0, 2, 4),
      call: 'SELL',
      confidence: 54,
      strength: 91,
      probability: 0.4592173305,
      regime: 'TRENDING_DOWN',
      regimeSince: Date.UTC(2025, 0, 1, 4),
      regimeStrength: 38,
      volatilityPercentile: 0.7345,
      price: 0.0201735,
      barrier: 0.0318,
      factors: [
        { name: 'reversal', value: 1.75, contribution: -0.1635, status: 'measured' },
        { name: 'funding', value: null, contribution: 0, status: 'unavailable' },
      ],
      reasoning: 'Stretched above its average – such bars have reversed a little more often than not.',
      modelVersion: 'first-1',
      anchorBar: Date.UTC(2024, 6, 1),
      inputsHash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    },
  },
  'RegimeShifted.v1.json': {
    sha256: '2016fa533e2cf282ff6a34705a2ac05dd1a6a2694d480555ab19b4e182c498cb',
    stream: verdictStream(SERIES),
    current: {
      ...SERIES,
      verdictId: '6d0a3b52-9c1e-8f47-a2d3-5b7e9014c6f8',
      barClose: Date.UTC(2025, 0, 1, 4),
      regime: 'TRENDING_DOWN',
      priorRegime: 'VOLATILE',
      confidence: 54,
    },
  },
  'OutcomeLabelled.v1.json': {
    sha256: 'f1c3e1e1100daa54e94082d994b401f1ec64fb77fe3d90f0867907ee3f06ee92',
    stream: outcomeStream(SERIES),
    current: {
      ...SERIES,
      verdictId: '6d0a3b52-9c1e-8f47-a2d3-5b7e9014c6f8',
      barClose: Date.UTC(2025, 0, 1, 4),
      validUntil: Date.UTC(2025, 0, 2, 4),
      modelVersion: 'first-1',
      call: 'SELL',
      probability: 0.4592173305,
      barrier: 0.0318,
      race: 'down',
      entryPrice: 0.0201742,
      exitPrice: 0.01953266044,
      decidedAt: Date.UTC(2025, 0, 1, 16),
      highest: 0.0042,
      lowest: -0.0331,
    },
  },
  'UniverseRanked.v1.json': {
    sha256: '742fa639b4626e3d4d1a4bb3b38be7eeb4e6451e9be62ecdbe968e8010bba7de',
    stream: universeStream('HL'),
    current: {
      exchange: 'HL',
      rankedAt: Date.UTC(2025, 0, 2, 5),
      coins: [
        { coin: 'BTC', quoteVolume24h: 2_310_458_112.25, openInterest: 1_893_004_411.5, change24h: -0.0215 },
        { coin: 'PURR', quoteVolume24h: 0, openInterest: null, change24h: null },
      ],
    },
  },
  'SubjectKeyCreated.v1.json': {
    sha256: 'a947de9aff717c3515582d9d206cad6f2e6e63c6857227c4e6510c8b9c139b8a',
    stream: subjectStream(ACCOUNT, 0),
    current: {
      accountId: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
      generation: 0,
      wrappedKey: 'YSB3cmFwcGVkIGtleSBvZiBvbmUgYWNjb3VudCwgbm90IGEgcmVhbCBvbmU=',
    },
  },
  'AccountOpened.v1.json': {
    sha256: '2ceff3564f1f370ab6d4e252f836b13151411828ef8979ab9fb4b57bc99dde87',
    stream: accountStream(ACCOUNT),
    current: {
      accountId: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
      generation: 0,
      sealedEmail: 'YSBzZWFsZWQgYWRkcmVzcywgbm90IGEgcmVhbCBvbmU=',
    },
  },
  'SignInRequested.v1.json': {
    sha256: '14c7f36236fff3363697456b6f690af3f1f0f8d50934d26880e7b1f1b8dde3c5',
    stream: accountStream(ACCOUNT),
    current: {
      accountId: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
      requestId: '019abcde-7c00-7001-8000-0000000000b1',
      codeHash: '5694d08a2e53ffcae0c3103e5ad6f6076abd960eb1f8a56577040bc1028f702b',
      expiresAt: 1735690200000,
    },
  },
  'SignInFailed.v1.json': {
    sha256: '0f5d7ce1c6551d4deb861a7b69da90b6d3ca18abf959848f2b43c9904bafba66',
    stream: accountStream(ACCOUNT),
    current: {
      accountId: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
      requestId: '019abcde-7c00-7001-8000-0000000000b1',
    },
  },
  'SignInConfirmed.v1.json': {
    sha256: '39e2e54027c00e76c9d103eb23716174826c10a47476c69f561ec4360aa1187b',
    stream: accountStream(ACCOUNT),
    current: {
      accountId: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
      requestId: '019abcde-7c00-7001-8000-0000000000b1',
    },
  },
  'KeyIssued.v1.json': {
    sha256: '01e0db1197209e025dc97b6079d2a9b5a11b248ebc8e22186d3fc562df7d24a0',
    stream: accountStream(ACCOUNT),
    current: {
      accountId: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
      keyId: '019abcde-7c00-7001-8000-00000000000a',
      keyHash: '2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683',
      hint: 'sk_live_Ab3x…',
      label: 'bot “eins”',
    },
  },
  'KeyRevoked.v1.json': {
    sha256: '8248b14ef00e750bde52dd1165d0184af4fdaa6f75afba5ffc93eeb438681185',
    stream: accountStream(ACCOUNT),
    current: {
      accountId: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
      keyId: '019abcde-7c00-7001-8000-00000000000a',
      reason: 'revoked by its owner',
    },
  },
  'PlanStarted.v1.json': {
    sha256: '5e15f8a283a31fe36c32d9827b01d21906cafa85f946bd267b0fd7e0bae4fece',
    stream: accountStream(ACCOUNT),
    current: {
      accountId: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
      tier: 'starter',
      from: 1735689600000,
      to: 1738281600000,
      source: 'operator',
      reference: null,
    },
  },
  'PlanEnded.v1.json': {
    sha256: '789be735f63409de60799810c8449938dbeb33caa1e190456a03bce1e63ca258',
    stream: accountStream(ACCOUNT),
    current: {
      accountId: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
      tier: 'starter',
      reason: 'replaced by pro',
    },
  },
  'AccountErased.v1.json': {
    sha256: '85f94ea9c1194d4b7443155b796ad3e51c2ca2c2b4b408bf812f19cb81ae24f7',
    stream: accountStream(ACCOUNT),
    current: { accountId: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55', generation: 0 },
  },
  'QuotaDebited.v1.json': {
    sha256: '4a331cbad6b487cd8fcf0e402d4fe544c936d1600f048776964e3c1f6a536454',
    stream: quotaStream(ACCOUNT, '2025-01'),
    current: {
      payerId: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
      window: { id: '2025-01', from: 1735689600000, to: 1738368000000 },
      day: '2025-01-01',
      tool: 'get_trade_call',
      channel: 'http',
      keyId: '019abcde-7c00-7001-8000-00000000000a',
      requestHash: '1f58b9145b24d108d7ac38887338b3ea3229833b9c1e418250343f907bfd1047',
      idempotencyHash: null,
      answer: '{"call":"HOLD"}',
      used: 1,
      usedToday: 1,
      granted: 0,
    },
  },
  'QuotaGranted.v1.json': {
    sha256: '536be36f6a708381bbc35a1a4923043591ce24eed9e5c3e96c687c9bbe17b212',
    stream: quotaStream(ACCOUNT, '2025-01'),
    current: {
      payerId: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
      window: { id: '2025-01', from: 1735689600000, to: 1738368000000 },
      calls: 50,
      reason: 'an outage',
      day: '2025-01-01',
      used: 1,
      usedToday: 1,
      granted: 50,
    },
  },
}

const readFixture = (name: string): RecordedEvent =>
  JSON.parse(readFileSync(join(FIXTURES, name), 'utf8')) as RecordedEvent

test('every event type has a fixture of every schema version it was stored in', () => {
  const expected = Object.values(EVENT_CATALOGUE).flatMap(({ type, schema }) =>
    Array.from({ length: schema }, (_, index) => `${type}.v${index + 1}.json`),
  )
  expect(readdirSync(FIXTURES).toSorted()).toEqual(expected.toSorted())
  expect(Object.keys(GOLDEN).toSorted()).toEqual(expected.toSorted())
})

test('every definition is filed under its own type', () => {
  for (const [name, { type }] of Object.entries(EVENT_CATALOGUE)) expect(type).toBe(name)
})

describe.each(Object.entries(GOLDEN))('fixture %s', (name, { sha256, stream, current }) => {
  const fixture = readFixture(name)

  test('is what it was when it was released', () => {
    const text = canonicalJson(fixture as unknown as Json)
    expect(createHash('sha256').update(text).digest('hex')).toBe(sha256)
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
