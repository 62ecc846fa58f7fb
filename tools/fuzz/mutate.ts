import type { SeededRandom } from '../../services/http/testing/seeded-random.ts'

/** Texts that many parsers stumble over. Bytes, as everything here: one character for each. */
const TOKENS: readonly string[] = [
  String.raw`" \ % & = + , ; . * ~ ( ) [ ] { } < > $ | / // :// @ : # ? ../ ..\ {} [] [[[[[[[[ {"a":`,
  String.raw`\u0000 \ud800 %00 %0d%0a %2e%2e%2f null true __proto__ "__proto__" constructor toString hasOwnProperty`,
  '0 -0 -1 00 0x10 1.5 1e308 1e309 NaN Infinity 9007199254740993 18446744073709551616',
  '127.0.0.1 [::1] ::ffff:127.0.0.1 0/0 Bearer q=0 data: file:/// http://',
  '\u00ef\u00bb\u00bf \u00c3\u0028 \u00ff\u00fe \u00e2\u0080\u00a8 \u00ed\u00a0\u0080 \u00c2\u00a0 \u00e2\u0080\u0094',
]
  .flatMap((line) => line.split(' '))
  .concat(['', '\0', ' ', '\t', '\r\n', '\n\n', 'A'.repeat(64), ' '.repeat(64)])

/** Sizes at which limits and buffers end. */
const LENGTHS: readonly number[] = [2, 16, 255, 256, 1_000, 4_096, 16_384]
/** Most bytes of an input: each edge reads less. */
const MOST = 65_536

type Mutation = (input: string, random: SeededRandom, seeds: readonly string[]) => string

const cut = (input: string, random: SeededRandom): readonly [number, number] => {
  const from = random.below(input.length + 1)
  return [from, from + random.below(Math.min(input.length - from, 64) + 1)]
}
const spliced = (input: string, from: number, to: number, by: string): string =>
  input.slice(0, from) + by + input.slice(to)

const MUTATIONS: readonly Mutation[] = [
  (input, random) => {
    const at = random.below(input.length + 1)
    return spliced(input, at, at + 1, String.fromCharCode(random.below(256)))
  },
  (input, random) => {
    const at = random.below(input.length + 1)
    return spliced(
      input,
      at,
      at + 1,
      String.fromCharCode((input.charCodeAt(at) || 0) ^ (1 << random.below(8))),
    )
  },
  (input, random) => spliced(input, ...cut(input, random), ''),
  (input, random) => spliced(input, ...cut(input, random), random.pick(TOKENS)),
  (input, random) => {
    const at = random.below(input.length + 1)
    return spliced(input, at, at, random.pick(TOKENS))
  },
  (input, random) => {
    const [from, to] = cut(input, random)
    return spliced(input, to, to, input.slice(from, to).repeat(random.pick(LENGTHS)))
  },
  (input, random, seeds) => {
    const other = random.pick(seeds)
    return input.slice(0, random.below(input.length + 1)) + other.slice(random.below(other.length + 1))
  },
  (input, random) => input.slice(0, random.below(input.length + 1)),
  // A number, a word or a text becomes another one.
  (input, random) => {
    const parts = [...input.matchAll(/\d+|"[^"]*"|\w+/g)]
    if (parts.length === 0) return input + random.pick(TOKENS)
    const { 0: text, index } = random.pick(parts)
    return spliced(input, index, index + text.length, random.pick(TOKENS))
  },
  (input, random) => random.pick(TOKENS).repeat(random.pick(LENGTHS)) + input,
]

/** One input out of others: the same for the same seed. */
export function mutated(seeds: readonly string[], random: SeededRandom): string {
  let input = random.pick(seeds)
  for (let times = 1 + random.below(4); times > 0; times--)
    input = random.pick(MUTATIONS)(input, random, seeds)
  return input.slice(0, MOST)
}
