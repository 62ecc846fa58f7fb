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
  deliveryStream,
  isStreamName,
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

/** What a fixture is held to. A released fixture never changes: a new schema version gets a new one. */
interface Golden {
  /** Of the fixture as canonical JSON, so that white space and line ends do not matter. */
  readonly sha256: string
  readonly stream: string
  /** Its data in the current schema. */
  readonly current: JsonObject
}

const ACCOUNT = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
const SUBSCRIPTION = '7b1e4c90-2f3a-8d56-b1c7-90ab34cd56ef'
const PAYMENT_ID = '01941f29-7c00-7001-8000-000000000300'
const PAYER = '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf'
const TRANSACTION = `0x${'5d'.repeat(32)}`
const PAYMENT_STREAM = paymentStream({
  chainId: CHAIN_ID,
  contract: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  payer: PAYER,
  nonce: `0x${'2a'.padStart(64, '0')}`,
})
const SERIES = { exchange: 'BINANCE', coin: '1000PEPE', timeframe: '4h' } as const

const SPEECH = {
  modelVersion: 'barrier-3',
  timeframe: '1h',
  from: Date.UTC(2026, 4, 4),
  day: Date.UTC(2026, 4, 2),
  races: 48_211,
  days: 14,
  rule: 1,
}

const CREATED = {
  subscriptionId: SUBSCRIPTION,
  accountId: ACCOUNT,
  generation: 0,
  sealedUrl: 'v1.c2VhbGVkIGFkZHJlc3M',
  form: null,
  sealedSecret: 'v1.c2VhbGVkIHNlY3JldA',
  filter: {
    events: ['trade_call', 'scan_digest'],
    timeframes: ['15m', '1h'],
    assets: ['BTC', 'top:20'],
    exchanges: null,
    minConfidence: 53,
    minStrength: 70,
    onlyChanges: true,
    freshness: {
      policy: 'skip',
      maxBars: 2,
    },
    digest: {
      timeframe: '1h',
      exchange: 'HL',
      topN: 10,
      cadence: '4h',
    },
  },
  startAfter: '41',
}

const attempted = (detail: JsonObject): JsonObject => ({
  subscriptionId: '7b1e4c90-2f3a-8d56-b1c7-90ab34cd56ef',
  token: 17,
  template: 1,
  baseUrl: 'https://signals.example.com',
  cursor: { after: '9007199254741001/9007199254741000', sequence: 43 },
  attempts: [
    {
      deliveryId: '01941fa8-3a38-8b11-9c20-5566778899aa',
      sequence: 41,
      eventId: '6d0a3b52-9c1e-8f47-a2d3-5b7e9014c6f8',
      position: '9007199254740993/9007199254740992',
      stream: 'verdict-BINANCE.1000PEPE.4h',
      revision: 1180,
      topN: null,
      attempt: 2,
      status: 503,
      reason: 'status',
      at: 1735704005510,
      durationMs: 31.5,
      result: 'failed',
      detail,
      bodySha256: 'abababababababababababababababababababababababababababababababab',
      nextAt: 1735704036000,
      replayId: null,
    },
    {
      deliveryId: '01941fa8-3a38-8c22-8d31-66778899aabb',
      sequence: 42,
      eventId: 'a3d5c7e9-1b2f-8a4c-9e6d-0f1e2d3c4b5a',
      position: '9007199254741001/9007199254741000',
      stream: 'scan-BINANCE.4h',
      revision: 7,
      topN: 10,
      attempt: 1,
      status: 200,
      reason: null,
      at: 1735704006000,
      durationMs: 4,
      result: 'delivered',
      detail: null,
      bodySha256: 'cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd',
      nextAt: null,
      replayId: null,
    },
  ],
  replays: [{ replayId: '0190a000-0000-7000-8000-0000000000ee', through: 12 }],
})

const GOLDEN: Readonly<Record<string, Golden>> = {
  'LogFormatRaised.v1.json': {
    sha256: '30d6d472c0545d2378bee6042cbe61ab7342c3cd2b552248395ce68a49d90b42',
    stream: STORE_IDENTITY_STREAM,
    current: { format: 2 },
  },
  'StoreInitialised.v1.json': {
    sha256: 'f12924d566688e2160e3c53cd28b1f217adfd8463208c869ed608e5d939f63e1',
    stream: STORE_IDENTITY_STREAM,
    current: {
      market: 'simulated',
      seed: 'first',
      secretFingerprint: '4f8b42c22dd3729b519ba6f68d2da7cc5b2d606d05daed5ad5128cc03e6c6358',
    },
  },
  'ModelAnnounced.v1.json': {
    sha256: '435bf4451ec7aeca9cdbae859ef3d24318a51b82ddcdb84e07239d1a8bde75c9',
    stream: modelStream('barrier-3'),
    current: {
      modelVersion: 'barrier-3',
      sha256: '7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d',
      bytes: 120431,
      role: 'serving',
    },
  },
  'MonitoringChanged.v1.json': {
    sha256: '297c53d48721cbf1e0b3c0f9b7e185bd7b2e2e16805aa671c5312f5d310f09d1',
    stream: monitoredStream('HL'),
    current: {
      exchange: 'HL',
      since: 1735689600000,
      monitored: [{ coin: 'BTC', timeframes: ['15m', '1h'] }],
    },
  },
  'LogKeysPublished.v1.json': {
    sha256: '0e54e547acbdad971a1fd48258db24859ff5b38b34dbf1f0d7c47ab25898ce8f',
    stream: LOG_KEYS_STREAM,
    current: {
      origin: 'signals.example.com/log',
      vkeys: ['signals.example.com/log+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'],
      reason: 'first keys',
      leaves: null,
    },
  },
  'CheckpointSigned.v1.json': {
    sha256: 'b8b976cdf9870ff089746d8ecad44a2c8539f22fae84d9379b95b47ad4819742',
    stream: LOG_CHECKPOINTS_STREAM,
    current: {
      origin: 'signals.example.com/log',
      size: 3,
      root: 'sFodV/vSp5O8n9a8QpW6PRY97tfOSW5bsc2Xl/EQi08=',
      note: 'signals.example.com/log\n3\nsFodV/vSp5O8n9a8QpW6PRY97tfOSW5bsc2Xl/EQi08=\n\n— signals.example.com/log Uw2QOg==\n',
      signedAt: 1735689601000,
    },
  },
  'CheckpointCosigned.v1.json': {
    sha256: '83c30441b0060a97353b11aef3976794b69b9459d74a215ab992665d3746f7e2',
    stream: LOG_COSIGNATURES_STREAM,
    current: {
      origin: 'signals.example.com/log',
      size: 3,
      root: 'sFodV/vSp5O8n9a8QpW6PRY97tfOSW5bsc2Xl/EQi08=',
      note: 'signals.example.com/log\n3\nsFodV/vSp5O8n9a8QpW6PRY97tfOSW5bsc2Xl/EQi08=\n\n— signals.example.com/log Uw2QOg==\n— witness.example.com/one Uw2QOg==\n',
      witnesses: ['witness.example.com/one'],
      isQuorum: true,
      cosignedAt: 1735689602000,
      countedFrom: 1,
      verdicts: 1,
      inTime: 1,
    },
  },
  'DaySealed.v1.json': {
    sha256: '1c35a9b2b63e2e043d4630543be95c8596c2e9b9846a7a3c83edbcef6909b469',
    stream: sealedStream('HL'),
    current: {
      exchange: 'HL',
      day: '2025-01-01',
      manifest: '{}',
      sha256: '7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d',
      rows: 24,
      bytes: 4096,
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
      forecast: null,
      factors: [
        { name: 'reversal', value: 1.75, contribution: -0.1635, status: 'measured' },
        { name: 'funding', value: null, contribution: 0, status: 'unavailable' },
      ],
      reasoning: 'Stretched above its average – such bars have reversed a little more often than not.',
      modelVersion: 'first-1',
      anchorBar: Date.UTC(2024, 6, 1),
      inputsHash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      previous: null,
      recordedLate: false,
    },
  },
  'VerdictRecorded.v2.json': {
    sha256: '60f7081da458d2aa2ea371165fbefa8a03a554ae9b0f4453b9b7628f2a97d281',
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
      forecast: null,
      factors: [
        { name: 'reversal', value: 1.75, contribution: -0.1635, status: 'measured' },
        { name: 'funding', value: null, contribution: 0, status: 'unavailable' },
      ],
      reasoning: 'Stretched above its average – such bars have reversed a little more often than not.',
      modelVersion: 'first-1',
      anchorBar: Date.UTC(2024, 6, 1),
      inputsHash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      previous: { barClose: Date.UTC(2025, 0, 1), regime: 'VOLATILE' },
      recordedLate: false,
    },
  },
  'VerdictRecorded.v3.json': {
    sha256: '633fd1f9712972422dd5abc360a25b648c198e9c4c14ce4d8c045cb88fc75dc9',
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
      forecast: {
        model: 'range-1',
        volatility: 0.0287,
        p10: -0.0342,
        p25: -0.0161,
        p50: 0,
        p75: 0.0163,
        p90: 0.0354,
      },
      factors: [
        { name: 'reversal', value: 1.75, contribution: -0.1635, status: 'measured' },
        { name: 'funding', value: null, contribution: 0, status: 'unavailable' },
      ],
      reasoning: 'Stretched above its average – such bars have reversed a little more often than not.',
      modelVersion: 'first-1',
      anchorBar: Date.UTC(2024, 6, 1),
      inputsHash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      previous: { barClose: Date.UTC(2025, 0, 1), regime: 'VOLATILE' },
      recordedLate: false,
    },
  },
  'ChallengerVerdictRecorded.v1.json': {
    sha256: '22b8710463402b429651e98950009ba2a9e219d19b04979cbb4fe40828204ed0',
    stream: challengerStream('first-1', SERIES),
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
      forecast: null,
      factors: [
        { name: 'reversal', value: 1.75, contribution: -0.1635, status: 'measured' },
        { name: 'funding', value: null, contribution: 0, status: 'unavailable' },
      ],
      reasoning: 'Stretched above its average – such bars have reversed a little more often than not.',
      modelVersion: 'first-1',
      anchorBar: Date.UTC(2024, 6, 1),
      inputsHash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      previous: { barClose: Date.UTC(2025, 0, 1), regime: 'VOLATILE' },
      recordedLate: false,
    },
  },
  'ChallengerVerdictRecorded.v2.json': {
    sha256: 'f424d128a6844e9dbd67a69a400e101001b1aba8259285e6373441359a7fa001',
    stream: challengerStream('first-1', SERIES),
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
      forecast: {
        model: 'range-1',
        volatility: 0.0287,
        p10: -0.0342,
        p25: -0.0161,
        p50: 0,
        p75: 0.0163,
        p90: 0.0354,
      },
      factors: [
        { name: 'reversal', value: 1.75, contribution: -0.1635, status: 'measured' },
        { name: 'funding', value: null, contribution: 0, status: 'unavailable' },
      ],
      reasoning: 'Stretched above its average – such bars have reversed a little more often than not.',
      modelVersion: 'first-1',
      anchorBar: Date.UTC(2024, 6, 1),
      inputsHash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      previous: { barClose: Date.UTC(2025, 0, 1), regime: 'VOLATILE' },
      recordedLate: false,
    },
  },
  'ModelChosen.v1.json': {
    sha256: '71fcb20a612233c7dac05b48dce7dc8844246e4ce5507e474c49563941862c83',
    stream: MODEL_CHOICE_STREAM,
    current: {
      modelVersion: 'barrier-4',
      sha256: '7d'.repeat(32),
      from: Date.UTC(2026, 4, 2, 0, 0, 31),
    },
  },
  'VerdictsMissing.v1.json': {
    sha256: '353917a0f4a2d6315a401470d762647804ef3be4a76a1800720a6fc06c06f3a8',
    stream: verdictStream(SERIES),
    current: {
      ...SERIES,
      reason: 'no_engine',
      bars: 3,
      from: Date.UTC(2024, 11, 31, 16),
      to: Date.UTC(2025, 0, 1),
      modelVersion: 'first-1',
    },
  },
  'SpeechWithdrawn.v1.json': {
    sha256: '31daff387c00e31ebc93f0e82cb9d539929f3c32916f23ae63d652b001e80abe',
    stream: speechStream('barrier-3', '1h'),
    current: { ...SPEECH, auc: 0.4913 },
  },
  'SpeechRestored.v1.json': {
    sha256: '8d0a93897bf8ca1232ecfe5037f154ba43b92e8825983820d7823d5af84e75fd',
    stream: speechStream('barrier-3', '1h'),
    current: { ...SPEECH, auc: 0.5062 },
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
      forecast: null,
      closePrice: null,
      recordedLate: false,
    },
  },
  'OutcomeLabelled.v2.json': {
    sha256: '5a792855330889cbb85aa1fc797634d4727623eae583552d8aaa14564c8284aa',
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
      forecast: null,
      closePrice: null,
      recordedLate: true,
    },
  },
  'OutcomeLabelled.v3.json': {
    sha256: '31c0b24e54d6b1de8f2613188f949c042313ba072e8f18f3cf6683010951af8f',
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
      forecast: {
        model: 'range-1',
        volatility: 0.0287,
        p10: -0.0342,
        p25: -0.0161,
        p50: 0,
        p75: 0.0163,
        p90: 0.0354,
      },
      closePrice: 0.0198113,
      recordedLate: true,
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
  'ScanCompleted.v1.json': {
    sha256: '9bbbf8c3ec34019dcd0584e51c425e708cee53dfbef5a70383909a2ce1ecd0a7',
    stream: scanStream('HL', '1h'),
    current: {
      scanId: '0194252b-9200-8f3a-9c55-7d21e0b4a6c3',
      exchange: 'HL',
      timeframe: '1h',
      cadence: '4h',
      boundary: Date.UTC(2025, 0, 2, 4),
      completedAt: Date.UTC(2025, 0, 2, 4, 0, 20),
      scanned: 3,
      holds: 1,
      calls: [
        {
          rank: 1,
          coin: 'BTC',
          call: 'SELL',
          confidence: 55,
          strength: 93,
          regime: 'TRENDING_DOWN',
          price: 96_412.5,
          barClose: Date.UTC(2025, 0, 2, 4),
          validUntil: Date.UTC(2025, 0, 2, 12),
          verdictId: '0194252b-9200-8b7e-a2d3-5b7e9014c6f8',
        },
        {
          rank: 2,
          coin: 'PURR',
          call: 'BUY',
          confidence: 53,
          strength: 71,
          regime: 'VOLATILE',
          price: 0.2731,
          barClose: Date.UTC(2025, 0, 2, 4),
          validUntil: Date.UTC(2025, 0, 2, 12),
          verdictId: '0194252b-9200-8d10-b6f0-0c4ad8e2917b',
        },
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
      codeCharacters: 6,
      expiresAt: 1735690200000,
    },
  },
  'SignInRequested.v2.json': {
    sha256: '62c2fd8e1e4ec3167e396e918f482842ed630fdbdcba35c7d9fadd87ad0b88ad',
    stream: accountStream(ACCOUNT),
    current: {
      accountId: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
      requestId: '019abcde-7c00-7001-8000-0000000000b1',
      codeHash: '5694d08a2e53ffcae0c3103e5ad6f6076abd960eb1f8a56577040bc1028f702b',
      codeCharacters: 10,
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
      label: { text: 'bot “eins”' },
    },
  },
  'KeyIssued.v2.json': {
    sha256: 'ad4ccfdd01fa65b3e8a4d583bf0e9e79ff1274f15c2268b86b89e433acfc053a',
    stream: accountStream(ACCOUNT),
    current: {
      accountId: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
      keyId: '019abcde-7c00-7001-8000-00000000000a',
      keyHash: '2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683',
      hint: 'sk_live_Ab3x…',
      label: { sealed: 'v1.c2VhbGVk' },
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
  'ChatReserved.v1.json': {
    sha256: '2902eeec0299b67c15889893f24928825a852f094e46334e5dfe439867497957',
    stream: chatStream(ACCOUNT, '2025-01'),
    current: {
      payerId: ACCOUNT,
      window: { id: '2025-01', from: 1735689600000, to: 1738368000000 },
      keyId: '019abcde-7c00-7001-8000-00000000000a',
      requestHash: '1f58b9145b24d108d7ac38887338b3ea3229833b9c1e418250343f907bfd1047',
      idempotencyHash: '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae',
      model: 'gpt-5-mini',
      until: Date.UTC(2025, 0, 2, 8, 1),
    },
  },
  'ChatAnswered.v1.json': {
    sha256: 'a071626ea6c18f145a73714049aec43c97903f233bd2876d9f684113e2e9115f',
    stream: chatStream(ACCOUNT, '2025-01'),
    current: {
      payerId: ACCOUNT,
      window: { id: '2025-01', from: 1735689600000, to: 1738368000000 },
      keyId: '019abcde-7c00-7001-8000-00000000000a',
      requestHash: '1f58b9145b24d108d7ac38887338b3ea3229833b9c1e418250343f907bfd1047',
      idempotencyHash: '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae',
      channel: 'mcp',
      model: 'gpt-5-mini',
      reservationId: '01942631-6c00-7001-8000-000000000201',
      answer: '{"answer":"Ten [1].","citations":[]}',
      used: 2,
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
  'PaymentClaimed.v1.json': {
    sha256: '0e2d579c4dd7f04d4dad931330cad509ca471df8de9769090fc277dba35cb9b3',
    stream: PAYMENT_STREAM,
    current: {
      paymentId: PAYMENT_ID,
      rail: 'direct',
      protocol: 2,
      chainId: 8453,
      contract: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
      asset: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
      payer: PAYER,
      payTo: '0x2222222222222222222222222222222222222222',
      value: '20000',
      validAfter: '1735689000',
      validBefore: 1_735_689_900,
      nonce: '0x000000000000000000000000000000000000000000000000000000000000002a',
      signature:
        '0x3d92f24408642050da2639c5280bcdb98b8a4e9880381b45a6e01a342bc6674d68b0bffca1e991f8b13cc98618c61efdd8ab2ac73e9a125ce57641fabab03d6d1c',
      product: 'get_trade_call',
      requestHash: '1f58b9145b24d108d7ac38887338b3ea3229833b9c1e418250343f907bfd1047',
      answer: '{"call":"HOLD"}',
      accountId: null,
      isServedFirst: true,
    },
  },
  'SettlementRequested.v1.json': {
    sha256: '29170a7cc196986dd6c86556b8108f694b621650f02c28bfd7bca91e8e069638',
    stream: PAYMENT_STREAM,
    current: { paymentId: PAYMENT_ID, attempt: 1, settler: 'own' },
  },
  'SettlementBroadcast.v1.json': {
    sha256: '083f923e950770684148a6c1dd6b1c2f82e1494e673a3428e0ccdbdd9ae9e89f',
    stream: PAYMENT_STREAM,
    current: { paymentId: PAYMENT_ID, attempt: 1, transaction: TRANSACTION },
  },
  'SettlementFailed.v1.json': {
    sha256: '590e6ccb508d7792601b8500c307b298db206a61434c6daa9bd5226a6fc1c996',
    stream: PAYMENT_STREAM,
    current: {
      paymentId: PAYMENT_ID,
      attempt: 1,
      reason: 'insufficient_funds: ERC20: transfer amount exceeds balance',
    },
  },
  'SettlementUnknown.v1.json': {
    sha256: '168684a4efaa7b64ed090aa6378e573acee5ea785a966ad7fadf11b1d3640efb',
    stream: PAYMENT_STREAM,
    current: { paymentId: PAYMENT_ID, attempt: 2, reason: 'the node does not answer' },
  },
  'SettlementConfirmed.v1.json': {
    sha256: '06e4dba2c2282c90ab765598003040f690abaefa05b3666cea4c1859f18e2c00',
    stream: PAYMENT_STREAM,
    current: {
      paymentId: PAYMENT_ID,
      transaction: TRANSACTION,
      blockNumber: 24_503_117,
      blockHash: '0xb7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7',
      by: 'other',
    },
  },
  'SettlementFinalised.v1.json': {
    sha256: '7295b80d507fbf533878b1f4546281053202dbc9a8f10e7d6b39aefcb700b69f',
    stream: PAYMENT_STREAM,
    current: { paymentId: PAYMENT_ID, transaction: TRANSACTION, blockNumber: 24_503_117 },
  },
  'SettlementReorged.v1.json': {
    sha256: 'aa56a7fa900162345a06c86e0d43b10c37434331784d5b36fd8faf3a37bb67ea',
    stream: PAYMENT_STREAM,
    current: { paymentId: PAYMENT_ID, transaction: TRANSACTION, blockNumber: 24_503_117 },
  },
  'PaymentUncollectable.v1.json': {
    sha256: '32bae322da441bf84b497381eb233af87432cfda789592de0c80812b9f9f1954',
    stream: PAYMENT_STREAM,
    current: {
      paymentId: PAYMENT_ID,
      reason: 'cancelled',
      detail: 'used in a transaction which brought us nothing – “cancelled”',
    },
  },
  'PaymentIdentified.v1.json': {
    sha256: 'a059e653522bc4bb5ffd0446b451bef41536a0c690c09c96d35988de06744815',
    stream: paymentIdentifierStream('64ec1888b097e0111f00d61e787f3031e35a0cc05eef0073d38c579fa11cb6b6'),
    current: { payer: PAYER, authorization: PAYMENT_STREAM },
  },
  'RefundSent.v1.json': {
    sha256: 'dbc5a7c882614a390108e55f4782a57714eeafebbe26c50e2a8da452b0323ebf',
    stream: PAYMENT_STREAM,
    current: {
      paymentId: PAYMENT_ID,
      value: '15000',
      transaction: '0xe4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4',
      reason: 'the answer was late',
    },
  },
  'PayerBlocked.v1.json': {
    sha256: '6a6847f0fedab4b25c71482ef549bf75fff04f385878e72921e331a45968ade5',
    stream: payerStream(CHAIN_ID, PAYER),
    current: { payer: PAYER, reason: 'three payments were cancelled' },
  },
  'PayerUnblocked.v1.json': {
    sha256: 'a634c15bc08e6fee18280f62251cfa99618a8f7cf70b233119cb8dc2e2e39f12',
    stream: payerStream(CHAIN_ID, PAYER),
    current: { payer: PAYER, reason: 'it was a mistake' },
  },
  'LeaseTaken.v1.json': {
    sha256: '21cb565b1bca80caa88b374292e11fe642a902e371c38b32c582ff550893c51a',
    stream: leaseStream('dispatcher'),
    current: {
      group: 'dispatcher',
      holder: '019abcde-7c00-7001-8000-0000000000aa',
      table: [
        {
          holder: '019abcde-7c00-7001-8000-0000000000ab',
          renewedBy: 40,
          ttlMs: 10_000,
          shards: [
            { shard: 0, token: 12 },
            { shard: 2, token: 12 },
          ],
        },
        {
          holder: '019abcde-7c00-7001-8000-0000000000aa',
          renewedBy: 41,
          ttlMs: 10_000,
          shards: [
            { shard: 1, token: 3 },
            { shard: 3, token: 41 },
          ],
        },
      ],
    },
  },
  'LeaseReleased.v1.json': {
    sha256: 'b52e0b57d454da93cc8f4d6b0b0370f93b9689fda18150a5f6235dbe0e2cf361',
    stream: leaseStream('dispatcher'),
    current: {
      group: 'dispatcher',
      holder: '019abcde-7c00-7001-8000-0000000000aa',
      table: [
        {
          holder: '019abcde-7c00-7001-8000-0000000000ab',
          renewedBy: 40,
          ttlMs: 10_000,
          shards: [
            { shard: 0, token: 12 },
            { shard: 2, token: 12 },
          ],
        },
      ],
    },
  },
  'OwnerNotified.v1.json': {
    sha256: '2655e6f3f5688202186a9dadf15f979ca2fdff3ae843a3a06f6305f0daeac51b',
    stream: noticeStream('019abcde-7c00-7001-8000-0000000000c1'),
    current: {
      subscriptionId: '019abcde-7c00-7001-8000-0000000000c1',
      kind: 'degraded_24h',
      since: 1735603200000,
    },
  },
  'CursorTaken.v1.json': {
    sha256: '45d7e4e7ee180a07f598a4fd99569cddc3a04a997ce9330aaea8cc0ccd18dad9',
    stream: deliveryStream(SUBSCRIPTION),
    current: {
      subscriptionId: '7b1e4c90-2f3a-8d56-b1c7-90ab34cd56ef',
      token: 17,
      holder: '0190a000-0000-7000-8000-00000000d15b',
      state: {
        cursor: { after: '9007199254741001/9007199254741000', sequence: 43 },
        open: [
          {
            deliveryId: '01941fa8-3a38-8b11-9c20-5566778899aa',
            sequence: 41,
            eventId: '6d0a3b52-9c1e-8f47-a2d3-5b7e9014c6f8',
            position: '9007199254740993/9007199254740992',
            stream: 'verdict-BINANCE.1000PEPE.4h',
            revision: 1180,
            topN: null,
            attempt: 2,
            status: 503,
            reason: 'status',
            template: 1,
            baseUrl: 'https://signals.example.com',
            firstAt: 1735704000400,
            lastAt: 1735704005510,
            nextAt: 1735704036000,
          },
        ],
        finishedAbove: [{ sequence: 44, position: '9007199254741009/9007199254741008' }],
        movedBy: 3,
        lastAttemptAt: 1735704006000,
        lastSuccessAt: 1735704006000,
        failuresInARow: 1,
        firstFailureAt: 1735704005510,
        counts: { delivered: 40, failed: 3, exhausted: 1, skipped: 2 },
        replays: [{ replayId: '0190a000-0000-7000-8000-0000000000ee', through: 12 }],
      },
    },
  },
  'DeliveriesAttempted.v1.json': {
    sha256: '2552de163d750f4ccce04fbb6519489ee634c5594c6892f852e4b05848c42201',
    stream: deliveryStream(SUBSCRIPTION),
    current: attempted({ text: '{"error":"später “noch einmal”"}' }),
  },
  'DeliveriesAttempted.v2.json': {
    sha256: 'f473d55a3bf19c82b2d36ef7283c2b29c185d6e129c61e805eac43cc437efe6e',
    stream: deliveryStream(SUBSCRIPTION),
    current: attempted({ sealed: 'v1.c2VhbGVkIGFuc3dlcg' }),
  },
  'CursorMoved.v1.json': {
    sha256: '48e5f475b6b1bf2a02c0d0b04c1da731982f7c8a1ba09949dc5d503823b42023',
    stream: deliveryStream(SUBSCRIPTION),
    current: {
      subscriptionId: '7b1e4c90-2f3a-8d56-b1c7-90ab34cd56ef',
      token: 17,
      state: {
        cursor: { after: '9007199254741001/9007199254741000', sequence: 43 },
        open: [
          {
            deliveryId: '01941fa8-3a38-8b11-9c20-5566778899aa',
            sequence: 41,
            eventId: '6d0a3b52-9c1e-8f47-a2d3-5b7e9014c6f8',
            position: '9007199254740993/9007199254740992',
            stream: 'verdict-BINANCE.1000PEPE.4h',
            revision: 1180,
            topN: null,
            attempt: 2,
            status: 503,
            reason: 'status',
            template: 1,
            baseUrl: 'https://signals.example.com',
            firstAt: 1735704000400,
            lastAt: 1735704005510,
            nextAt: 1735704036000,
          },
        ],
        finishedAbove: [{ sequence: 44, position: '9007199254741009/9007199254741008' }],
        movedBy: 3,
        lastAttemptAt: 1735704006000,
        lastSuccessAt: 1735704006000,
        failuresInARow: 1,
        firstFailureAt: 1735704005510,
        counts: { delivered: 40, failed: 3, exhausted: 1, skipped: 2 },
        replays: [{ replayId: '0190a000-0000-7000-8000-0000000000ee', through: 12 }],
      },
    },
  },
  'SubscriptionSlotTaken.v1.json': {
    sha256: '55d3720dbce5001976e3db7d7c673e36a48946a1572e2e431b49cfefd2f5edd8',
    stream: accountStream(ACCOUNT),
    current: {
      accountId: ACCOUNT,
      subscriptionId: SUBSCRIPTION,
    },
  },
  'SubscriptionSlotFreed.v1.json': {
    sha256: '2f355d11be04e73886bc7e4fedfd7bb050a3c6be174572ff2c7a493bc28b5d2f',
    stream: accountStream(ACCOUNT),
    current: {
      accountId: ACCOUNT,
      subscriptionId: SUBSCRIPTION,
    },
  },
  'SubscriptionCreated.v1.json': {
    sha256: '8c3e32fbb619892ce696a3ec5d863de67a5668dca537c6a254923a4dc593c4ed',
    stream: subscriptionStream(SUBSCRIPTION),
    current: CREATED,
  },
  'SubscriptionCreated.v2.json': {
    sha256: '3aad1973a18022b22f5048f796a0eed6d3ffb087a3559f1da53326708d24fbee',
    stream: subscriptionStream(SUBSCRIPTION),
    current: CREATED,
  },
  'SubscriptionCreated.v3.json': {
    sha256: '608dafe244f6f58607797fd658acbe9dda96c1832c48206b012603d4d4376510',
    stream: subscriptionStream(SUBSCRIPTION),
    current: { ...CREATED, form: 'slack' },
  },
  'SubscriptionChanged.v1.json': {
    sha256: '9a4132e051616939c65a943268e738b630a16fc9b81db735f00849836ca0fd2d',
    stream: subscriptionStream(SUBSCRIPTION),
    current: {
      subscriptionId: SUBSCRIPTION,
      filter: {
        events: ['regime_shift'],
        timeframes: ['15m', '1h'],
        assets: null,
        exchanges: null,
        minConfidence: 53,
        minStrength: 70,
        onlyChanges: true,
        freshness: {
          policy: 'skip',
          maxBars: 2,
        },
        digest: null,
      },
    },
  },
  'SecretRotated.v1.json': {
    sha256: '55143aa07479350367478f4ad3ebff0b0b20d9d2cf9d7fd1746f6f15f7a87f1e',
    stream: subscriptionStream(SUBSCRIPTION),
    current: {
      subscriptionId: SUBSCRIPTION,
      generation: 0,
      sealedSecret: 'v1.YW5vdGhlciBzZWNyZXQ',
      overlapUntil: 1735776000000,
    },
  },
  'SubscriptionPaused.v1.json': {
    sha256: 'c468f919a4050c0e3254de922be930ea18eb9b16a926fa0069e7327e4f8fe1f9',
    stream: subscriptionStream(SUBSCRIPTION),
    current: {
      subscriptionId: SUBSCRIPTION,
      reason: 'paused by key 019abcde-7c00-7001-8000-0000000000aa',
    },
  },
  'SubscriptionResumed.v1.json': {
    sha256: 'b23e848b78fa581886cb57c092eeac189f58ead2dc0b98ac1449b9e169b75558',
    stream: subscriptionStream(SUBSCRIPTION),
    current: {
      subscriptionId: SUBSCRIPTION,
      from: 'since',
      after: '40',
    },
  },
  'SubscriptionDegraded.v1.json': {
    sha256: '40e5000515b16702378922cf5ae1bd1ef5a84f8f2b096ce71c2cc7b30c2ec31c',
    stream: subscriptionStream(SUBSCRIPTION),
    current: {
      subscriptionId: SUBSCRIPTION,
      reason: '5 failures in a row',
    },
  },
  'SubscriptionRecovered.v1.json': {
    sha256: 'f354557692c6225394e57b869f09f24572021bf0e5e417adda612b326f772a54',
    stream: subscriptionStream(SUBSCRIPTION),
    current: {
      subscriptionId: SUBSCRIPTION,
    },
  },
  'SubscriptionDisabled.v1.json': {
    sha256: '4c5afb7fdeae2a5aa2e873475bd3eb8848d49ff55c8f55bd6408bd12953e1f7f',
    stream: subscriptionStream(SUBSCRIPTION),
    current: {
      subscriptionId: SUBSCRIPTION,
      reason: 'no success for 5 days',
      by: 'endpoint',
    },
  },
  'SubscriptionDisabled.v2.json': {
    sha256: '2f1ae89a02a28f3bd2ae853836e1296869778674d0079705bfd414285b3f1a01',
    stream: subscriptionStream(SUBSCRIPTION),
    current: {
      subscriptionId: SUBSCRIPTION,
      reason: 'stopped by the operator: complaints',
      by: 'operator',
    },
  },
  'SubscriptionAllowed.v1.json': {
    sha256: 'd0f0e55ef506a6b5386957867ca0e72ab0bbbb4d4bfdd80569c7addc145cbc3b',
    stream: subscriptionStream(SUBSCRIPTION),
    current: { subscriptionId: SUBSCRIPTION, reason: 'allowed by the operator: it was a mistake' },
  },
  'SecretOverlapEnded.v1.json': {
    sha256: '4109fd640ab0be0fbc4cd8c41cdcb09759bb737fbd81caf1ba5af538820022e5',
    stream: subscriptionStream(SUBSCRIPTION),
    current: { subscriptionId: SUBSCRIPTION },
  },
  'WebhookHostBlocked.v1.json': {
    sha256: '64e3c02cf0b4aaf13beb8efb4a13977c037ec6cf5c8b73692879a0b3290cc986',
    stream: WEBHOOK_HOSTS_STREAM,
    current: { host: 'victim.example.com', reason: 'complaints' },
  },
  'WebhookHostAllowed.v1.json': {
    sha256: '95b0ba8ccc33dd3e9d959424b999ec1f46fe8bbf9ae5b5b86bd761f9f0a71bfb',
    stream: WEBHOOK_HOSTS_STREAM,
    current: { host: 'victim.example.com', reason: 'complaints' },
  },
  'ReplayRequested.v1.json': {
    sha256: 'c4519eda83752e7434c8cf3e587683dd73a3821dbee692ed9e4006861ab842fd',
    stream: subscriptionStream(SUBSCRIPTION),
    current: {
      subscriptionId: SUBSCRIPTION,
      replayId: '019abcde-7c00-7001-8000-0000000000b2',
      fromSequence: 3,
      toSequence: 7,
    },
  },
  'SubscriptionRemoved.v1.json': {
    sha256: '216f6e2aadeeeeab8aa6e9c6d69ab87f50595e7e192ea6e979fd10ad7042f408',
    stream: subscriptionStream(SUBSCRIPTION),
    current: {
      subscriptionId: SUBSCRIPTION,
      reason: 'removed by key 019abcde-7c00-7001-8000-0000000000aa',
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
