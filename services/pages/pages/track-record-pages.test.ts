import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { TrackRecordQuery } from '../../analyst/index.ts'
import { createServer } from '../../composition/server.ts'
import { NO_READ_MODELS } from '../../http/testing/no-read-models.ts'
import { serverOptions } from '../../http/testing/server-options.fixture.ts'

let asked: TrackRecordQuery[]
let app: Awaited<ReturnType<typeof createServer>>

beforeEach(async () => {
  asked = []
  app = await createServer(
    serverOptions({
      ...NO_READ_MODELS,
      trackRecord(query) {
        asked.push(query)
        return { asOf: '0', rows: [], next: undefined }
      },
    }),
  )
})
afterEach(async () => {
  vi.restoreAllMocks()
  await app.close()
})

const visit = (query = '') => app.inject(`/track-record${query}`)

test('a page is made once for all who look at the same within five seconds', async () => {
  const first = await visit()
  expect(first.headers).toMatchObject({
    'cache-control': 'public, max-age=60',
    'content-type': 'text/html; charset=utf-8',
  })
  const questions = asked.length
  expect(questions).toBeGreaterThan(0)
  // A form sends what was not filled in as empty.
  const second = await visit('?timeframe=&coin=')
  expect([second.body, second.headers['content-security-policy']]).toEqual([
    first.body,
    first.headers['content-security-policy'],
  ])
  expect(asked.length).toBe(questions)

  await visit('?timeframe=1h')
  expect(asked.length).toBeGreaterThan(questions)

  const later = performance.now() + 6_000
  vi.spyOn(performance, 'now').mockReturnValue(later)
  const before = asked.length
  await visit()
  expect(asked.length).toBe(before + questions)
})

test('a page that refuses a field is not kept', async () => {
  for (let n = 0; n < 2; n++) {
    const before = asked.length
    const refused = await visit('?timeframe=2y')
    expect([refused.statusCode, refused.headers['cache-control']]).toEqual([400, 'no-store'])
    expect(asked.length).toBeGreaterThan(before)
  }
})
