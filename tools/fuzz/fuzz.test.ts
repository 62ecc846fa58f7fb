import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { createSeededRandom } from '../../services/http/testing/seeded-random.ts'
import { CORPUS, corpusLine, corpusOf } from './corpus.ts'
import { faultOf, nextInput, shrunk } from './fuzz.ts'
import { mutated } from './mutate.ts'
import type { Target } from './target.ts'
import { TARGETS } from './targets/all-targets.ts'

/** Inputs for each target; `npm run fuzz` goes on for as long as it is asked to. */
const INPUTS = 60
const SEED = 18

test('every target has a corpus, and every corpus a target', () => {
  const files = readdirSync(CORPUS).map((name) => name.replace(/\.txt$/, ''))
  expect(files.toSorted()).toEqual(TARGETS.map(({ name }) => name).toSorted())
})

describe.each(TARGETS)('$name', (target) => {
  const seeds = corpusOf(target.name)

  test('takes or refuses what is kept', async () => {
    const faults = await Promise.all(seeds.map(async (input) => (await faultOf(target, input)) ?? ''))
    expect(faults.filter((fault) => fault !== '')).toEqual([])
    expect(seeds.map(corpusLine).map((line) => JSON.parse(line) as unknown)).toEqual(seeds)
  })

  test(`takes or refuses ${INPUTS} inputs made of it`, async () => {
    const random = createSeededRandom(SEED)
    const broken: string[] = []
    for (let left = INPUTS; left > 0 && broken.length === 0; left--) {
      const input = nextInput(target, seeds, random)
      const fault = await faultOf(target, input)
      if (fault !== undefined) broken.push(fault, corpusLine(await shrunk(target, input, fault)))
    }
    expect(broken).toEqual([])
  })
})

describe('the fuzzer itself', () => {
  const target = (read: Target['read'], more: Partial<Target> = {}): Target => ({
    name: 'planted',
    read,
    ...more,
  })
  /** Refuses with the words of the registry, or in whatever way is planted, whoever says so. */
  const planted = (fault: (text: string) => unknown): Target =>
    target((input) => {
      const text = input.toString('latin1')
      if (text.includes('!')) throw fault(text)
    })

  test('makes the same inputs of the same seed', () => {
    const inputs = (seed: number): string[] => {
      const random = createSeededRandom(seed)
      return Array.from({ length: 50 }, () => mutated(['{"a":1}', 'b=2'], random))
    }
    expect(inputs(1)).toEqual(inputs(1))
    expect(inputs(1)).not.toEqual(inputs(2))
    expect(new Set(inputs(1)).size).toBeGreaterThan(40)
  })

  test.each<[string, (text: string) => unknown]>([
    [
      'an error that nobody thought of',
      () => new TypeError("Cannot read properties of undefined (reading 'a')"),
    ],
    ['an inner error', () => new ServiceError('internal_error')],
    ['something that is no error', () => 'no'],
  ])('finds %s, and keeps the smallest input', async (_what, fault) => {
    const broken = planted(fault)
    const input = `${'a'.repeat(100)}!${'b'.repeat(100)}`
    const found = (await faultOf(broken, input)) ?? expect.fail('nothing was found')
    expect(await shrunk(broken, input, found)).toBe('!')
    expect(await faultOf(broken, 'a')).toBeUndefined()
  })

  test('takes refusals of the registry, and those that a target names, unless V8 speaks', async () => {
    expect(
      await faultOf(
        planted(() => new ServiceError('invalid_request')),
        '!',
      ),
    ).toBeUndefined()
    const own = (message: string) => ({ ...planted(() => new TypeError(message)), refusesBy: ['TypeError'] })
    expect(await faultOf(own('it is cut off'), '!')).toBeUndefined()
    expect(await faultOf(own('x is not iterable'), '!')).toContain('not thought of')
  })

  test('finds a secret that a refusal repeats', async () => {
    const telling = target(
      (input) => {
        throw new ServiceError('invalid_request', { message: `not ${input.toString()}` })
      },
      { isSecret: true },
    )
    const random = createSeededRandom(SEED)
    const inputs = Array.from({ length: 20 }, () => nextInput(telling, ['a'], random))
    const faults = await Promise.all(inputs.map((input) => faultOf(telling, input)))
    expect(faults.filter((fault) => fault !== undefined).length).toBeGreaterThan(3)
  })

  test('finds what changes all objects', async () => {
    const polluting = target(() => Object.assign(Object.prototype, { isAdmin: true }))
    try {
      expect(await faultOf(polluting, '')).toContain('prototype')
    } finally {
      Reflect.deleteProperty(Object.prototype, 'isAdmin')
    }
  })
})
