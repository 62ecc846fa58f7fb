import { execFile } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { readArguments } from './command.ts'
import { PLANTS } from './plants.ts'
import { runSeeds } from './run-seeds.ts'
import { simulate } from './simulation.ts'

/** As many as there is time for; more where a run has longer, and any by command. */
const MOST_MS = Number(process.env.SIMULATE_MS ?? 12_000)
const LEAST_SEEDS = 3
/** One of so many seeds finds a fault that is planted. */
const MOST_SEEDS = 200
/** Some need a rare fault at a rare instant: begins where it is soon, so that the suite stays quick. */
const BEGIN_AT: Readonly<Record<string, number>> = { 'torn-append': 600 }

test('seeds find nothing', async () => {
  const began = performance.now()
  for (let seed = 1; seed <= LEAST_SEEDS || performance.now() - began < MOST_MS; seed++) {
    const { found } = await simulate(seed)
    expect(found, `npm run simulate -- --from ${seed} --seeds 1 --tell`).toEqual([])
  }
}, 240_000)

/** These seeds found faults that are mended, some of them in an auditor. */
test.each([500_278, 602_219])(
  'seed %i finds nothing any more',
  async (seed) => {
    expect((await simulate(seed)).found).toEqual([])
  },
  120_000,
)

test('one seed is the same run every time, whatever ran before', async () => {
  const first = await simulate(2)
  await simulate(3)
  expect(await simulate(2)).toEqual(first)
}, 120_000)

describe('a fault that is planted', () => {
  test.each(PLANTS)(
    'is found: $what',
    async ({ name, seams }) => {
      let found: readonly string[] = []
      const from = BEGIN_AT[name] ?? 1
      for (let seed = from; found.length === 0 && seed < from + MOST_SEEDS; seed++)
        ({ found } = await simulate(seed, seams))
      expect(found).not.toEqual([])
    },
    240_000,
  )
})

test('the lowest seed that finds something is told, however many threads share them', async () => {
  const began: number[] = []
  const start = () => {
    const thread = new EventEmitter()
    // The lower the seed, the later it is done.
    const postMessage = (seed: number): void => {
      began.push(seed)
      setTimeout(
        () => thread.emit('message', { seed, found: seed >= 12 ? [`found at ${seed}`] : [] }),
        40 - 2 * seed,
      )
    }
    return Object.assign(thread, { postMessage, terminate: async () => 0 })
  }
  const options = { from: 1, seeds: 18, plant: undefined, onDone: () => undefined, start }
  for (const jobs of [1, 3, 7])
    expect(await runSeeds({ ...options, jobs })).toEqual({ seed: 12, found: ['found at 12'] })
  expect(await runSeeds({ ...options, seeds: 11, jobs: 4 })).toBeUndefined()
  expect(Math.max(...began)).toBeLessThanOrEqual(18)
})

test('a thread that has lived through many seeds makes room for another, and none is lost', async () => {
  const seen: number[] = []
  const [started, ended] = [new Set<object>(), new Set<object>()]
  const start = () => {
    const thread = new EventEmitter()
    const postMessage = (seed: number): void => {
      seen.push(seed)
      setImmediate(() => thread.emit('message', { seed, found: [] }))
    }
    const made = Object.assign(thread, { postMessage, terminate: async () => ended.add(made) })
    started.add(made)
    return made
  }
  const options = { from: 1, seeds: 1_000, jobs: 1, plant: undefined, onDone: () => undefined, start }
  expect(await runSeeds(options)).toBeUndefined()
  expect(seen).toEqual(Array.from({ length: 1_000 }, (_, index) => index + 1))
  expect([started.size, ended]).toEqual([3, started])
})

test('what seeds execute of the product is counted, room by room', async () => {
  const command = [join(import.meta.dirname, 'run.ts'), '--seeds', '1', '--coverage']
  const { stdout } = await promisify(execFile)(process.execPath, command)
  const share = (room: string): number =>
    Number(new RegExp(`^${room} +\\d+ of +\\d+ lines +(\\d+) %$`, 'm').exec(stdout)?.[1])
  expect(share('services/webhooks/dispatch')).toBeGreaterThan(50)
  // No seed starts the command line.
  expect(share('services/cli')).toBe(0)
})

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
  expect(why('--jobs', '65')).toContain('from 1 to 64, not 65')
  expect(why('--nonsense')).toContain('--nonsense')
  expect(why('--list-plants')).toBe('plants')
  expect(new Set(PLANTS.map(({ name }) => name)).size).toBeGreaterThanOrEqual(10)
})
