import { describe, expect, test } from 'vitest'
import { EXCHANGES } from '../domain/series.ts'
import { TIMEFRAMES } from '../domain/timeframes.ts'
import { LIMITS } from '../limits.ts'
import { isStreamName, MARKET_CLOCK_STREAM, STORE_IDENTITY_STREAM, verdictStream } from './streams.ts'

describe('stream names', () => {
  test('of the service are all allowed, even for the longest coin', () => {
    const coin = 'B'.repeat(LIMITS.coinCharacters)
    const verdictStreams = EXCHANGES.flatMap((exchange) =>
      TIMEFRAMES.map((timeframe) => verdictStream({ exchange, coin, timeframe })),
    )
    const refused = [STORE_IDENTITY_STREAM, MARKET_CLOCK_STREAM, ...verdictStreams].filter(
      (name) => !isStreamName(name),
    )
    expect(refused).toEqual([])
  })

  test('have a longest length', () => {
    expect(isStreamName('s'.repeat(LIMITS.streamNameCharacters))).toBe(true)
    expect(isStreamName('s'.repeat(LIMITS.streamNameCharacters + 1))).toBe(false)
  })

  test.each([
    '',
    '$all',
    '$ce-verdict',
    'Verdict-SIM.BTC.1h',
    '-verdict',
    '1verdict',
    'verdict SIM',
    'verdict-SIM.BTC.1h\n',
    'verdict/../secret',
    'verdict\\x',
    'verdict%2e',
    'verdict*',
    'verdict>',
    "verdict'--",
    'verdict\0',
    'vérdict',
  ])('%j is not allowed', (name) => {
    expect(isStreamName(name)).toBe(false)
  })
})
