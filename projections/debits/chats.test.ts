import { expect, test } from 'vitest'
import { chatAnswered, fold, given } from '../given-events.fixture.ts'
import { chats } from './debits.ts'

const PAYER = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'

test('a chat is found by its key, in the window and at the revision where it is', () => {
  const history = given(
    chatAnswered({ idempotencyHash: null }),
    chatAnswered({ idempotencyHash: 'b'.repeat(64), requestHash: 'c'.repeat(64) }),
  )
  expect(fold(chats, history)).toEqual({
    [`${PAYER}/${'b'.repeat(64)}`]: { window: '2026-11', revision: 1, requestHash: 'c'.repeat(64) },
  })
})
