import { describe, expect, test } from 'vitest'
import { anId } from '../signals/testing/signal-log.fixture.ts'
import { answered, type Endpoint, useDispatchWorld, world } from './testing/dispatch-world.fixture.ts'

const SIGNALS = 120
const SECOND_MS = 1_000

useDispatchWorld()

const takes =
  (milliseconds: number): Endpoint =>
  async (_, signal) => {
    await world.time.sleep(milliseconds, signal ?? new AbortController().signal)
    return answered(200)
  }

/** Half of the time, in virtual milliseconds, that a signal took to a healthy endpoint: one signal a second. */
async function medianOfHealthy(): Promise<number> {
  const recordedAt: number[] = []
  const tookMs: number[] = []
  world.endpoint('healthy', ({ sequence, at }) => {
    tookMs.push(at - (recordedAt[sequence - 1] ?? at))
    return answered(200)
  })
  await world.subscribe('healthy', { accountId: anId('healthy account') })
  await world.start()
  for (let n = 0; n < SIGNALS; n++) {
    recordedAt.push(world.time.now())
    await world.verdicts(1)
    await world.time.pass(SECOND_MS, 250)
  }
  expect(tookMs).toHaveLength(SIGNALS)
  return tookMs.toSorted((a, b) => a - b)[SIGNALS / 2] ?? Number.POSITIVE_INFINITY
}

/** Without any others it takes less than a step of the clock. */
const AS_WITHOUT_OTHERS_MS = 250

describe('fifty endpoints that take every delivery after 14.5 s', () => {
  test('keep a healthy one from nothing, whoever has them', async () => {
    for (let n = 0; n < 50; n++) {
      world.endpoint(`slow-${n}`, takes(14_500))
      await world.subscribe(`slow-${n}`, { accountId: anId(`account ${n}`) })
    }
    expect(await medianOfHealthy()).toBeLessThanOrEqual(AS_WITHOUT_OTHERS_MS)
  })

  test('do so also when they were quick until now', async () => {
    for (let n = 0; n < 50; n++) {
      world.endpoint(`slow-${n}`, (post, signal) => takes(post.sequence <= 5 ? 1 : 14_500)(post, signal))
      await world.subscribe(`slow-${n}`, { accountId: anId(`account ${n}`) })
    }
    expect(await medianOfHealthy()).toBeLessThanOrEqual(AS_WITHOUT_OTHERS_MS)
  })
})
