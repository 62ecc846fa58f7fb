import fc from 'fast-check'
import { expect, test } from 'vitest'
import { packBatch, unpackBatch } from './pack-batch.ts'

test('a batch comes out as it went in', () => {
  const event = fc.record({
    id: fc.uuid(),
    type: fc.string(),
    schema: fc.nat(),
    data: fc.string({ unit: 'grapheme' }),
    meta: fc.string(),
  })
  const append = fc.record({
    stream: fc.string(),
    expected: fc.oneof(
      fc.constantFrom('any' as const, 'no-stream' as const, 'stream-exists' as const),
      fc.nat(),
    ),
    events: fc.array(event, { maxLength: 4 }),
    bytes: fc.nat(),
  })
  fc.assert(
    fc.property(fc.array(append, { maxLength: 5 }), (batch) => {
      expect(unpackBatch(structuredClone(packBatch(batch)))).toEqual(batch)
    }),
  )
})
