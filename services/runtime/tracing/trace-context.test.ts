import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readTraceparent, traceparentOf } from './trace-context.ts'

const hex = (length: number) =>
  fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`)).filter((text) => !/^0+$/.test(text))

test('what is written is read again', () => {
  fc.assert(
    fc.property(fc.record({ traceId: hex(32), spanId: hex(16), isSampled: fc.boolean() }), (context) => {
      expect(readTraceparent(traceparentOf(context))).toEqual(context)
    }),
  )
})

test.each([
  ['', undefined],
  ['none of\r\nthe kind', undefined],
  ['00-00000000000000000000000000000000-b7ad6b7169203331-01', undefined],
  ['00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01', undefined],
  ['00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01', undefined],
  ['ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', undefined],
  // Flags that nobody knows yet say nothing of the first.
  ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-02', false],
  ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03', true],
])('%j is sampled: %s', (text, isSampled) => {
  expect(readTraceparent(text)?.isSampled).toBe(isSampled)
})
