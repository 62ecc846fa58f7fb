import { expect, test } from 'vitest'
import { EXCHANGES } from './domain/series.ts'
import { TIMEFRAMES } from './domain/timeframes.ts'
import { aVerdict } from './domain/verdict.fixture.ts'
import { verdictSchema } from './domain/verdict.ts'
import { verdictStream } from './events/streams.ts'
import { LIMITS } from './limits.ts'

/** The default size limits of a message of nats-server and an append of EventStoreDB. */
const SERVER_BYTES = 1_048_576

const longest = (words: readonly string[]): string => words.toSorted((a, b) => b.length - a.length)[0] ?? ''
const LONGEST_COIN = 'B'.repeat(LIMITS.coinCharacters)

/** The largest verdict that the schema admits, of characters that JSON writes with six bytes each. */
const largestVerdict = () =>
  verdictSchema.parse(
    aVerdict({
      coin: LONGEST_COIN,
      reasoning: '\u0001'.repeat(500),
      modelVersion: '\u0001'.repeat(64),
      factors: Array.from({ length: 64 }, () => ({
        name: '\u0001'.repeat(64),
        value: -Number.MAX_VALUE,
        contribution: -Number.MAX_VALUE,
        status: 'unavailable' as const,
      })),
    }),
  )

test('every limit is a whole number from 1', () => {
  expect(Object.entries(LIMITS).filter(([, value]) => !(Number.isSafeInteger(value) && value >= 1))).toEqual(
    [],
  )
})

test('what is written together fits what it is written in', () => {
  expect(LIMITS.appendBytes).toBeLessThanOrEqual(LIMITS.commitBytes)
  expect(LIMITS.commitAppends).toBeLessThanOrEqual(LIMITS.appendQueue)
  expect(LIMITS.appendBytes).toBeLessThan(SERVER_BYTES)
  expect(LIMITS.busMessageBytes).toBeLessThan(SERVER_BYTES)
})

test('the largest verdict fits an append together with its shift and a bus message', () => {
  const bytes = Buffer.byteLength(JSON.stringify(largestVerdict()))
  const room = Math.min(LIMITS.appendBytes / 2, LIMITS.busMessageBytes)
  expect(bytes).toBeLessThan(room)
})

test('the longest stream name of a series is allowed', () => {
  const [exchange, timeframe] = [longest(EXCHANGES), longest(TIMEFRAMES)]
  const name = verdictStream({ exchange, coin: LONGEST_COIN, timeframe } as Parameters<
    typeof verdictStream
  >[0])
  expect(name.length).toBeLessThanOrEqual(LIMITS.streamNameCharacters)
})

test('a filter of as many values as are allowed fits a request target', () => {
  const values = Array.from({ length: LIMITS.filterValues }, () => LONGEST_COIN)
  expect(encodeURIComponent(values.join(',')).length).toBeLessThan(LIMITS.requestUrlCharacters * 0.75)
})

test('a page is never larger than the whole it is a page of', () => {
  expect(LIMITS.readPageEvents).toBeLessThanOrEqual(LIMITS.replayEvents)
  expect(LIMITS.projectionBatchEvents).toBeLessThanOrEqual(LIMITS.replayEvents)
})

test('a shutdown leaves an append the time to be answered', () => {
  expect(LIMITS.shutdownMs).toBeGreaterThanOrEqual(LIMITS.appendTimeoutMs)
})
