import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonFault } from '../../../contracts/infra/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { answerText, keptText } from './http-attempt.ts'

test('text stays as it is, over the borders of chunks too', () => {
  const bytes = Buffer.from('{"ok":true,\n\t"wörds":"€ 🙂"}')
  expect(answerText([bytes.subarray(0, 15), bytes.subarray(15)])).toBe(bytes.toString())
})

test('a character that was cut off is left out, and what is no text shows as such', () => {
  expect(answerText([Buffer.from('ab€').subarray(0, 4)])).toBe('ab')
  expect(answerText([Buffer.from([0x61, 0xff, 0x62])])).toBe('a\uFFFDb')
  expect(answerText([Buffer.from('\u001b[2J\u0000\u0085x')])).toBe('\uFFFD[2J\uFFFD\uFFFDx')
})

test('whatever is answered can be stored, and is no longer than what is kept', () => {
  const chunks = fc.array(fc.uint8Array({ maxLength: 700 }), { maxLength: 5 })
  fc.assert(
    fc.property(chunks, fc.string({ unit: 'binary', maxLength: 2_000 }), (pieces, text) => {
      for (const kept of [answerText(pieces), keptText(text)]) {
        expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(LIMITS.webhookResponseKeptBytes)
        expect(jsonFault(kept, 1)).toBeUndefined()
      }
    }),
  )
})
