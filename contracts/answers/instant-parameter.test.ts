import { expect, test } from 'vitest'
import { exactInstantParameter, instantFault, instantParameter } from './parameters.ts'

test.each(['2026-11-26T00:00', '2026-11-26T00:00:30', '2026-11-26T00:00:30.123'])(
  '%s has no zone',
  (text) => {
    for (const schema of [instantParameter, exactInstantParameter]) {
      const read = schema.safeParse(text)
      expect(read.error?.issues[0]?.message).toBe(
        `has no zone: add Z, as in ${text}Z, or an offset as +02:00`,
      )
    }
  },
)

test.each(['2026-11-26T00:00Z', '2026-11-26T00:00:30.123+02:00'])('%s is taken', (text) => {
  for (const schema of [instantParameter, exactInstantParameter]) expect(schema.parse(text)).toBe(text)
})

test('a date is one of UTC; what is neither is refused otherwise', () => {
  expect(instantParameter.parse('2026-11-26')).toBe('2026-11-26')
  expect(instantFault('yesterday')).toBe('must be an ISO 8601 instant or date')
  expect(exactInstantParameter.safeParse('2026-11-26').error?.issues[0]?.message).toBe(
    'must be an ISO 8601 instant',
  )
})
