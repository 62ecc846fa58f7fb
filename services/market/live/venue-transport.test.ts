import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createFakeMarket } from './testing/fake-market.ts'
import { type FakeVenue, type Fault, startFakeVenue } from './testing/fake-venue.ts'
import { VENUE_FORMATS } from './testing/venue-formats.ts'
import { VenueFailure } from './venue-failure.ts'
import { createVenueTransport } from './venue-transport.ts'

const NOW = Date.UTC(2026, 2, 3, 12)

let venue: FakeVenue
beforeAll(async () => {
  const market = createFakeMarket({ seed: 'transport', coins: ['BTC'], now: () => NOW })
  venue = await startFakeVenue(VENUE_FORMATS.BINANCE, market)
})
beforeEach(() => venue.heal())
afterAll(() => venue.close())

const seenTimes: number[] = []
const transport = createVenueTransport({
  now: () => NOW,
  fetch,
  timeoutMs: 300,
  maxBytes: 200_000,
  onVenueTime: (time) => void seenTimes.push(time),
})
const ask = () => transport(`${venue.url}/fapi/v1/exchangeInfo?secret=1`, {})

async function failureOf(fault: Fault): Promise<VenueFailure> {
  venue.fail('markets', fault)
  const failure = await ask().catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(VenueFailure)
  return failure as VenueFailure
}

test('gives the whole answer, and the time of the venue', async () => {
  const answer = await ask()
  expect(answer.status).toBe(200)
  expect(JSON.parse(await answer.text())).toMatchObject({ symbols: [{ symbol: 'BTCUSDT' }, {}] })
  expect(seenTimes.at(-1)).toBe(NOW)
})

describe('what passes', () => {
  test.each([
    ['no answer', { kind: 'silent' }, /did not answer within 300 ms/],
    ['half an answer on an open connection', { kind: 'half' }, /did not answer within 300 ms/],
    ['a broken connection', { kind: 'reset' }, /could not be reached/],
    ['500', { kind: 'status', status: 500 }, /answered 500: .*try again later/],
    ['503', { kind: 'status', status: 503 }, /answered 503/],
    ['429', { kind: 'status', status: 429 }, /answered 429/],
    ['418', { kind: 'status', status: 418 }, /answered 418/],
  ] as const)('%s', async (_name, fault, message) => {
    const failure = await failureOf(fault)
    expect(failure.kind).toBe('passing')
    expect(failure.message).toMatch(message)
    expect(failure.message).toContain('/fapi/v1/exchangeInfo')
    expect(failure.message).not.toContain('secret')
  })

  test('a closed port', async () => {
    const failure = await transport('http://127.0.0.1:9/x', {}).catch((error: unknown) => error)
    expect(failure).toMatchObject({ kind: 'passing' })
  })
})

describe('by way of another address', () => {
  const throughRelay = createVenueTransport({
    now: () => NOW,
    fetch,
    timeoutMs: 300,
    baseUrl: 'http://127.0.0.1:9/key-1234/',
  })

  test('a request goes there, with the path of the venue behind that of the address', async () => {
    const sent: string[] = []
    const relayed = createVenueTransport({
      now: () => NOW,
      fetch: (url) => {
        sent.push(url instanceof Request ? url.url : url.toString())
        return Promise.resolve(new Response('{}'))
      },
      baseUrl: 'https://relay.example/key-1234/',
    })
    await relayed('https://fapi.binance.com/fapi/v1/klines?symbol=BTCUSDT', {})
    expect(sent).toEqual(['https://relay.example/key-1234/fapi/v1/klines?symbol=BTCUSDT'])
  })

  test.each([
    ['answers with what it was asked', 'https://relay.example/key-1234', 500],
    ['bars the way with what it was asked', 'https://relay.example/key-1234', 403],
    ['is no address that can be asked', 'https://name:key-1234@relay.example/', 500],
  ])('no message tells its key where it %s', async (_what, baseUrl, status) => {
    const relayed = createVenueTransport({
      now: () => NOW,
      fetch: async (url, init) => {
        const { url: asked } = new Request(url, { ...init, signal: null })
        return new Response(`<p>no way to ${asked}`, { status })
      },
      baseUrl,
    })
    const failure = await relayed('https://fapi.binance.com/fapi/v1/time', {}).catch(
      (error: unknown) => error,
    )
    expect(failure).toBeInstanceOf(VenueFailure)
    expect((failure as VenueFailure).message).toMatch(
      /by way of relay\.example, (?:answered|could not be reached)/,
    )
    expect((failure as VenueFailure).message).not.toContain('key-1234')
  })

  test('no message tells its path, which may hold a key', async () => {
    const failure: unknown = await throughRelay('https://fapi.binance.com/fapi/v1/time', {}).catch(
      (error: unknown) => error,
    )
    expect(failure).toBeInstanceOf(VenueFailure)
    const { message } = failure as VenueFailure
    expect(message).toContain('fapi.binance.com/fapi/v1/time, by way of 127.0.0.1:9, could not be reached')
    expect(message).not.toContain('key-1234')
  })
})

describe('what is final', () => {
  test('an answer without end is cut off', async () => {
    const failure = await failureOf({ kind: 'endless' })
    expect(failure).toMatchObject({ kind: 'refused' })
    expect(failure.message).toMatch(/sent more than 200000 bytes/)
  })

  test('a page instead of an answer, as from what stands before a venue', async () => {
    const failure = await failureOf({
      kind: 'status',
      status: 403,
      text: '<html>not from your country</html>',
    })
    expect(failure).toMatchObject({ kind: 'barred' })
    expect(failure.message).toMatch(/answered 403: <html>not from/)
  })

  test.each([
    [401, '{"code":-2015,"msg":"Invalid key"}'],
    [451, '{"code":0,"msg":"Service unavailable from a restricted location"}'],
    [200, '<!DOCTYPE html><title>Just a moment...</title>'],
  ])('%d with %s: it does not let us in', async (status, text) => {
    expect(await failureOf({ kind: 'status', status, text })).toMatchObject({ kind: 'barred' })
  })

  test('but not a refusal in JSON, which says more to who knows the venue', async () => {
    venue.fail('markets', { kind: 'status', status: 400, text: '{"code":-1121}' })
    const answer = await ask()
    expect([answer.status, await answer.text()]).toEqual([400, '{"code":-1121}'])
  })
})

test.each([
  ['3', 3_000],
  ['0', 0],
  ['999999', 86_400_000],
  [new Date(NOW + 20_000).toUTCString(), 20_000],
  ['soon', undefined],
  ['-5', undefined],
])('Retry-After: %s', async (retryAfter, expected) => {
  const failure = await failureOf({ kind: 'status', status: 429, retryAfter })
  expect(failure.retryAfterMs).toBe(expected)
})
