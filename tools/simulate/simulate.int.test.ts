import { expect, test } from 'vitest'
import { readArguments } from './command.ts'
import { PLANTS } from './plants.ts'
import { simulate } from './simulation.ts'

/** Of an hour's choosing, so that runs of this test see other seeds; told where one finds something. */
const SOMEWHERE = Math.floor(Date.now() / 3_600_000) % 1_000_000

test('a few seeds find nothing', async () => {
  for (const seed of [1, 2, 3, SOMEWHERE, SOMEWHERE + 1, SOMEWHERE + 2]) {
    const { found } = await simulate(seed)
    expect(found, `seed ${seed}: npm run simulate -- --from ${seed} --seeds 1 --tell`).toEqual([])
  }
}, 120_000)

test('one seed is the same run every time, whatever ran before', async () => {
  const first = await simulate(2)
  await simulate(3)
  expect(await simulate(2)).toEqual(first)
}, 120_000)

test('arguments that are none are refused in words', () => {
  const why = (...given: string[]): string => {
    const asked = readArguments(given)
    return asked.kind === 'refused' ? asked.why : asked.kind
  }
  expect(why('--seeds', 'many')).toBe('--seeds must be a whole number from 1 to 4294967295, not many')
  expect(why('--seeds', '0')).toContain('not 0')
  expect(why('--from', '-1')).toContain("'--from'")
  expect(why('--from', '4294967295', '--seeds', '2')).toContain('ask for fewer')
  expect(why('--plant', 'no-such')).toContain('there is no plant no-such')
  expect(why('--nonsense')).toContain('--nonsense')
  expect(why('--list-plants')).toBe('plants')
  expect(new Set(PLANTS.map(({ name }) => name)).size).toBeGreaterThanOrEqual(10)
})
