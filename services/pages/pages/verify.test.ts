import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Verification, verificationAnswerSchema } from '../../../contracts/answers/verification.ts'
import { aVerdict } from '../../../contracts/domain/verdict.fixture.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { createServer } from '../../composition/server.ts'
import { serverOptions } from '../../http/testing/server-options.fixture.ts'
import { PAGE_POLICY } from '../layout.ts'

const ID = '0190a000-0000-8000-8000-000000000001'
const PAGE = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

const proof = (type: string, data: Verification['event']['data']): Pick<Verification, 'event' | 'hash'> => ({
  event: {
    id: ID,
    type,
    schema: 1,
    stream: 'verdict-SIM.BTC.1h',
    revision: 3,
    position: '17',
    at: '2025-01-01T00:00:00.000Z',
    data,
  },
  hash: 'ab'.repeat(32),
})

const verification = (change: Partial<Verification> = {}): Verification => ({
  verdict_id: ID,
  ...proof('VerdictRecorded', JSON.parse(JSON.stringify(aVerdict())) as Verification['event']['data']),
  window_closes_at: '2025-01-01T08:00:00.000Z',
  outcome: null,
  notice: 'Information, not advice.',
  recorded_as: 'live',
  recorded_note: null,
  ...change,
})
const ENDED = { entryPrice: 100, exitPrice: 101, closePrice: 102, decidedAt: null }
const outcome = proof('OutcomeLabelled', { race: 'up', ...ENDED })

let app: FastifyInstance
let answer: Verification

beforeEach(async () => {
  answer = verification()
  app = await createServer(
    serverOptions({
      verify: async (id) => {
        if (id !== ID) throw new ServiceError('not_found')
        return answer
      },
    }),
  )
})
afterEach(() => app.close())

/** The answer about `answer`: with the market, and the verdict in the names of the interface. */
const told = () => ({
  ...answer,
  market: 'simulated',
  verdict: expect.objectContaining({
    call: 'HOLD',
    coin: 'BTC',
    valid_until: new Date(aVerdict().validUntil).toISOString(),
    model_version: aVerdict().modelVersion,
  }) as unknown,
})

const get = (path: string, headers: Record<string, string> = {}) =>
  app.inject({ method: 'GET', url: path, headers })

describe('GET /verify/:verdict_id', () => {
  test('is JSON for programs, and is not kept while the outcome is open', async () => {
    const response = await get(`/verify/${ID}`)
    expect(response.statusCode).toBe(200)
    expect(response.headers).toMatchObject({ 'cache-control': 'no-store', vary: 'accept' })
    expect(verificationAnswerSchema.strict().parse(response.json())).toEqual(told())
  })

  test('may be kept for ever once the outcome is known', async () => {
    answer = verification({ outcome })
    const response = await get(`/verify/${ID}`)
    expect(response.headers['cache-control']).toBe('public, max-age=31536000, immutable')
    expect(response.json()).toEqual(told())
  })

  test('is a page for browsers, with the hash, the position and the outcome', async () => {
    answer = verification({ outcome })
    const response = await get(`/verify/${ID}`, PAGE)
    expect(response.headers['content-type']).toBe('text/html; charset=utf-8')
    // It names files that the next release replaces.
    expect(response.headers['cache-control']).toBe('no-store')
    for (const text of [
      answer.hash,
      'Position',
      '17',
      'the upper barrier was reached first',
      'HOLD BTC 1h on SIM',
    ]) {
      expect(response.body).toContain(text)
    }
  })

  test.each([
    ['simulated', 'its prices are made up'],
    ['recorded', 'replayed from recorded prices'],
    ['live', 'was live'],
  ] as const)('of a %s market says so, to people as well', async (market, words) => {
    await app.close()
    app = await createServer(serverOptions({ market, verify: async () => answer }))
    expect((await get(`/verify/${ID}`)).json()).toMatchObject({ market })
    expect((await get(`/verify/${ID}`, PAGE)).body).toContain(words)
  })

  test.each([
    ['BUY', 'up', 'Won: the upper'],
    ['BUY', 'down', 'Lost: the lower'],
    ['SELL', 'down', 'Won: the lower'],
    ['SELL', 'both', 'Lost: one bar'],
    ['BUY', 'timeout', '<p>neither barrier'],
    ['HOLD', 'up', '<p>the upper'],
  ])('a page says of %s and %s: %s', async (call, race, words) => {
    const { event } = verification()
    answer = verification({
      event: { ...event, data: { ...event.data, call } },
      outcome: proof('OutcomeLabelled', { race, ...ENDED, exitPrice: null }),
    })
    const { body } = await get(`/verify/${ID}`, PAGE)
    expect(body).toContain(words)
    expect(body.split('How to check it')[0]).not.toMatch(/validUntil|modelVersion|entryPrice/)
  })

  test('a page says of a verdict that was recorded after its window how long after, and why', async () => {
    const recorded_note = 'Recorded 12 days after its window closed: the past was computed.'
    answer = verification({ recorded_as: 'backfill', recorded_note })
    expect((await get(`/verify/${ID}`, PAGE)).body).toContain(recorded_note)
    expect((await get(`/verify/${ID}`)).json()).toMatchObject({ recorded_as: 'backfill', recorded_note })
  })

  test('a page loads nothing from elsewhere, and nothing in it runs', async () => {
    const response = await get(`/verify/${ID}`, PAGE)
    expect(response.headers['content-security-policy']).toBe(PAGE_POLICY)
    const main = response.body.slice(response.body.indexOf('<main '), response.body.indexOf('</main>'))
    expect(main).not.toMatch(/<script|<link|<img|\bsrc=|\bon[a-z]+=/)
    for (const [, address] of response.body.matchAll(/(?:href|src)="([^"]*)"/g))
      expect(address).toMatch(/^[/#]/)
  })

  test('what an event says is text on the page, never markup', async () => {
    const data = { ...answer.event.data, reasoning: '<img src=x onerror="alert(1)">', coin: "<b>'&" }
    answer = verification({ event: { ...answer.event, data } })
    const { body } = await get(`/verify/${ID}`, PAGE)
    expect(body).not.toMatch(/<img|<b>/)
    expect(body).toContain('&lt;img src=x onerror=&quot;alert(1)&quot;&gt;')
  })

  test('the format can be asked for', async () => {
    expect((await get(`/verify/${ID}?format=html`)).body).toMatch(/^<!doctype html>/)
    expect((await get(`/verify/${ID}?format=json`, PAGE)).json()).toEqual(told())
  })

  test('takes the id in capitals too', async () => {
    expect((await get(`/verify/${ID.toUpperCase()}`)).json()).toEqual(told())
  })

  test.each([
    ['/verify/0190a000-0000-8000-8000-00000000ffff', 404, 'not_found'],
    ['/verify/yesterday', 400, 'invalid_request'],
    [`/verify/${ID}?format=xml`, 400, 'invalid_request'],
  ])('%s is refused with %i %s', async (path, status, code) => {
    const page = await get(path, PAGE)
    expect(page.statusCode).toBe(status)
    expect(page.body).toContain(`<code>${code}</code>`)
    const response = await get(path)
    expect(response.statusCode).toBe(status)
    expect(response.json()).toMatchObject({ code, next_step: expect.any(String) })
  })
})
