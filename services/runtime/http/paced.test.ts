import { expect, test } from 'vitest'
import { paced } from './paced.ts'

const signal = new AbortController().signal

/** Asks a server that gives these answers, the last one for ever; says how long it was waited for. */
async function ask(...answers: readonly (readonly [status: number, retryAfter?: string])[]) {
  const waits: number[] = []
  let asked = 0
  const once = async () => {
    const [status, retryAfter] = answers[Math.min(asked++, answers.length - 1)] ?? [0]
    return { status, retryAfter }
  }
  const clock = { now: () => Date.UTC(2026, 0, 1), sleep: async (ms: number) => void waits.push(ms), signal }
  const { status } = await paced(once, clock)
  return { status, waits, asked }
}

test('a busy server is asked again at the pace that it asks for', async () => {
  expect(await ask([429, '1'], [503, 'Thu, 01 Jan 2026 00:00:30 GMT'], [200])).toEqual({
    status: 200,
    waits: [1_000, 30_000],
    asked: 3,
  })
})

test.each([200, 404, 500, 503])('%i that names no time is an answer', async (status) => {
  expect(await ask([status])).toEqual({ status, waits: [], asked: 1 })
})

test('a limit without a time is waited for longer and longer, and not for ever', async () => {
  const { status, waits } = await ask([429])
  expect([status, waits]).toEqual([
    429,
    [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000],
  ])
  expect((await ask([429, '0'])).waits).toHaveLength(10)
})

test('who asks for more than two minutes is not waited for', async () => {
  expect(await ask([429, '121'])).toEqual({ status: 429, waits: [], asked: 1 })
})
