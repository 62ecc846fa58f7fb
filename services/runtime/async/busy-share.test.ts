import { expect, test } from 'vitest'
import { createBusyShare } from './busy-share.ts'

test('a loop that turns without a pause is busy', () => {
  const share = createBusyShare()
  share()
  for (const until = performance.now() + 20; performance.now() < until; );
  expect(share()).toBeGreaterThan(0.9)
})
