import { expect, test } from 'vitest'
import { isTraceparent } from './trace-context.ts'

test.each([
  ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', true],
  ['ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-02', true],
  ['00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01', false],
  ['none of\r\nthe kind', false],
  ['', false],
  [undefined, false],
])('%j is handed on: %s', (value, isHandedOn) => {
  expect(isTraceparent(value)).toBe(isHandedOn)
})
