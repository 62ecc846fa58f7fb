import type { SeededRandom } from '../../services/http/testing/seeded-random.ts'
import { marked } from '../../testing/whole/canaries.fixture.ts'
import { mutated } from './mutate.ts'
import { refusalFault, type Target } from './target.ts'

const SECRET = marked('fuzzed')
const names = (): string => Object.getOwnPropertyNames(Object.prototype).join(' ')
const NAMES = names()

/** The fault that one input finds; undefined where the input is taken, or refused as it should be. */
export async function faultOf(target: Target, input: string): Promise<string | undefined> {
  const said = await outcomeOf(target, input)
  if (names() !== NAMES) return 'changes the prototype of all objects'
  if (said.fault !== undefined) return said.fault
  return target.isSecret === true && input.includes(SECRET) && said.words.includes(SECRET)
    ? `repeats what may be a secret: ${said.words}`
    : undefined
}

async function outcomeOf(
  target: Target,
  input: string,
): Promise<{ readonly words: string; readonly fault?: string | undefined }> {
  try {
    await target.read(Buffer.from(input, 'latin1'))
    return { words: '' }
  } catch (error) {
    const details = error instanceof Error && 'details' in error ? JSON.stringify(error.details) : ''
    return { words: `${String(error)} ${details}`, fault: refusalFault(error, target) }
  }
}

/** The next input for a target: out of its corpus, with a secret in some where it may hold one. */
export function nextInput(target: Target, seeds: readonly string[], random: SeededRandom): string {
  const input = mutated(seeds, random)
  if (target.isSecret !== true || !random.once(3)) return input
  const at = random.below(input.length + 1)
  return input.slice(0, at) + SECRET + input.slice(at)
}

/** Makes an input smaller for as long as it breaks the same, so that what is kept says what it is about. */
export async function shrunk(target: Target, input: string, fault: string): Promise<string> {
  const kindOf = (text: string): string => text.slice(0, 24)
  let smallest = input
  for (let size = Math.ceil(smallest.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < smallest.length; ) {
      const without = smallest.slice(0, at) + smallest.slice(at + size)
      const found = await faultOf(target, without)
      if (found !== undefined && kindOf(found) === kindOf(fault)) smallest = without
      else at += size
    }
  }
  return smallest
}
