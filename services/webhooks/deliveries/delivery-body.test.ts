import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Forecast } from '../../../contracts/domain/verdict.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Signal } from '../signals/signal.ts'
import { aDigestRow, anId, aSignalLog } from '../signals/testing/signal-log.fixture.ts'
import { toSignals } from '../signals/to-signals.ts'
import { type BodyParts, deliveryBody } from './delivery-body.ts'

const BASE_URL = 'https://signals.example.com'
const VERDICT_ID = anId(`verdict verdict-SIM.BTC.1h ${Date.UTC(2026, 10, 21, 13)}`)

/** A signal of each type, as the log has them. */
async function signals(
  forecast: Forecast | null = null,
): Promise<Readonly<Record<'call' | 'shift' | 'digest', Signal>>> {
  const world = aSignalLog()
  const verdict = {
    call: 'SELL',
    confidence: 54,
    strength: 91,
    regime: 'TRENDING_DOWN',
    price: 0.0201735,
    forecast,
  } as const
  await world.verdict(verdict, 'VOLATILE')
  await world.digest('HL', '4h', '1d', 3)
  const [call, shift, digest] = world.events().flatMap(toSignals)
  if (call === undefined || shift === undefined || digest === undefined)
    throw new Error('not all are signals')
  return { call, shift, digest }
}

const parts = (signal: Signal, change: Partial<BodyParts> = {}): BodyParts => ({
  deliveryId: anId('delivery'),
  sequence: 41,
  topN: null,
  baseUrl: BASE_URL,
  signal,
  ...change,
})

const envelope = { delivery_id: anId('delivery'), created_at: '2026-11-21T12:00:00.000Z', sequence: 41 }
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const FORECAST: Forecast = {
  model: 'range-1',
  volatility: 0.0095,
  p10: -0.0112,
  p25: -0.0053,
  p50: 0,
  p75: 0.0053,
  p90: 0.0113,
}

/** A delivery can be asked for years later: these bytes never change. */
const GOLDEN = {
  call: 'ac7922d6ef98f227fff4384580b871ab47d1113fd33638799da6ff6db06ea6f7',
  shift: 'b3f3f1a57a65be4dc6fd0679ae948c20eca2372563a9f305c8eb798eead05b47',
  reach: '9cb0cc7457c766ad7a4198c639536f8e296daf52295681807f45b5d951091d1f',
  digest: 'd4028d0794c473bf147d26e8c40485b5ef65f864cf6f80e39d26d12e4381ea86',
}

describe('the body of template 1', () => {
  test.each(['call', 'shift', 'digest'] as const)(
    'of a %s is what it was when it was released',
    async (name) => {
      const body = deliveryBody(parts((await signals())[name], { topN: name === 'digest' ? 2 : null }))
      expect(sha256(body)).toBe(GOLDEN[name])
    },
  )

  test('of one signal is written once for all its subscribers, whose heads differ', async () => {
    const { call, digest } = await signals()
    let reads = 0
    const watched = new Proxy(call.data, { get: (data, key) => (reads++, Reflect.get(data, key)) })
    const signal = { ...call, data: watched } as Signal
    const first = JSON.parse(deliveryBody(parts(signal)).toString())
    const before = reads
    const second = JSON.parse(
      deliveryBody(parts(signal, { deliveryId: anId('other'), sequence: 7 })).toString(),
    )
    expect(reads).toBe(before)
    expect(second).toEqual({ ...first, delivery_id: anId('other'), sequence: 7 })
    const moved = JSON.parse(deliveryBody(parts(signal, { baseUrl: 'https://elsewhere.example' })).toString())
    expect(moved.data.verify_url).toContain('https://elsewhere.example')
    const rowsOf = (topN: number): number =>
      JSON.parse(deliveryBody(parts(digest, { topN })).toString()).data.calls.length
    expect([rowsOf(1), rowsOf(2), rowsOf(1)]).toEqual([1, 2, 1])
  })

  test('tells of a trade call what it says, until when, and where it can be verified', async () => {
    const { call } = await signals()
    expect(JSON.parse(deliveryBody(parts(call)).toString())).toEqual({
      event: 'trade_call',
      ...envelope,
      data: {
        type: 'trade_call',
        coin: 'BTC',
        timeframe: '1h',
        exchange: 'SIM',
        call: 'SELL',
        confidence: 54,
        strength: 91,
        regime: 'TRENDING_DOWN',
        price: 0.0201735,
        bar_close: '2026-11-21T13:00:00.000Z',
        valid_until: '2026-11-21T21:00:00.000Z',
        verdict_id: VERDICT_ID,
        model_version: 'first-1',
        verify_url: `${BASE_URL}/verify/${VERDICT_ID}`,
      },
    })
  })

  test('of a trade call that says how far the price may go tells that, too, and the rest as ever', async () => {
    const { model, volatility, ...range } = FORECAST
    expect(model).toBe('range-1')
    const body = deliveryBody(parts((await signals(FORECAST)).call))
    expect(sha256(body)).toBe(GOLDEN.reach)
    const { data } = JSON.parse(body.toString()) as { data: object }
    const before = JSON.parse(deliveryBody(parts((await signals()).call)).toString()) as { data: object }
    expect(data).toEqual({ ...before.data, expected_range: range, expected_volatility: volatility })
  })

  test('tells of a regime shift from what to what', async () => {
    const { shift } = await signals()
    expect(JSON.parse(deliveryBody(parts(shift)).toString())).toEqual({
      event: 'regime_shift',
      ...envelope,
      data: {
        type: 'regime_shift',
        coin: 'BTC',
        timeframe: '1h',
        exchange: 'SIM',
        regime: 'TRENDING_DOWN',
        prior_regime: 'VOLATILE',
        confidence: 54,
        bar_close: '2026-11-21T13:00:00.000Z',
        verdict_id: VERDICT_ID,
        verify_url: `${BASE_URL}/verify/${VERDICT_ID}`,
      },
    })
  })

  test('has of a digest as many rows as were asked for', async () => {
    const { digest } = await signals()
    const { event, data } = JSON.parse(deliveryBody(parts(digest, { topN: 2 })).toString())
    expect(event).toBe('scan_digest')
    expect(data).toMatchObject({ cadence: '1d', timeframe: '4h', exchange: 'HL', top_n: 2 })
    expect(data.completed_at).toBe('2026-11-21T12:00:05.000Z')
    expect(data.calls.map(({ rank }: { rank: number }) => rank)).toEqual([1, 2])
    expect(data.calls[0]).toEqual({
      rank: 1,
      coin: 'COIN1',
      call: 'BUY',
      confidence: 55,
      strength: 99,
      regime: 'TRENDING_UP',
      price: 1.5,
      bar_close: '2026-11-21T12:00:00.000Z',
      valid_until: '2026-11-21T20:00:00.000Z',
      verdict_id: anId('row 1'),
      verify_url: `${BASE_URL}/verify/${anId('row 1')}`,
    })
  })

  test('is the same for the same parts, whatever was made in between', async () => {
    const { call, digest } = await signals()
    const several = [
      parts(call),
      parts(call, { baseUrl: 'https://other.example.com' }),
      parts(digest, { topN: 1 }),
      parts(digest, { topN: 3 }),
      parts(call, { sequence: 42 }),
    ]
    const once = several.map((one) => deliveryBody(one).toString())
    const again = several.toReversed().map((one) => deliveryBody(one).toString())
    expect(again.toReversed()).toEqual(once)
    expect(new Set(once).size).toBe(several.length)
    // A signal that was read from the log anew is another object with the same content.
    const fresh = several.map((one) =>
      deliveryBody({ ...one, signal: structuredClone(one.signal) }).toString(),
    )
    expect(fresh).toEqual(once)
  })

  test('never exceeds what a body may be: a digest that would loses its last rows', async () => {
    const { digest } = await signals()
    if (digest.type !== 'scan_digest') throw new Error('no digest')
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 1, max: LIMITS.publicUrlCharacters }),
        (rows, length) => {
          const coin = 'C'.repeat(LIMITS.coinCharacters)
          const price = 0.123456789012345
          const calls = Array.from({ length: rows }, (_, n) => aDigestRow(n + 1, { coin, price }))
          const signal = { ...digest, data: { ...digest.data, calls } }
          const baseUrl = 'h'.repeat(length)
          const body = deliveryBody(parts(signal, { topN: 100, baseUrl }))
          expect(body.length).toBeLessThanOrEqual(LIMITS.webhookBodyBytes)
          const sent = JSON.parse(body.toString()).data.calls
          expect(sent.map(({ rank }: { rank: number }) => rank)).toEqual(
            sent.map((_: object, n: number) => n + 1),
          )
          const perRow = 400 + length
          expect(sent.length).toBeGreaterThanOrEqual(Math.min(rows, Math.floor(60_000 / perRow)))
        },
      ),
      { numRuns: 100, examples: [[100, LIMITS.publicUrlCharacters]] },
    )
  })
})
