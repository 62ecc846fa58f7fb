/**
 * Keccak-256 as Ethereum has it (the submission's padding, 0x01, where SHA3-256 has 0x06). Node has no such hash, and
 * one in JavaScript, which knows no 64-bit numbers, costs a third of a verified payment. So its permutation
 * (FIPS 202 §3.2) is put together here as WebAssembly, which does: a fourteenth of the time.
 */

/** Node has it; its types do not say so. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object) => { readonly exports: unknown }
}

const LANES = 25
const ROUNDS = 24
const RATE_BYTES = 136
const DIGEST_BYTES = 32

/** Offset of the round constants in memory, after the 200 bytes of the state. */
const CONSTANTS_AT = 256

/** Locals of the permutation: lanes, lanes on their way, parities of columns, what they add to each, the round. */
const A = 0
const B = LANES
const C = 2 * LANES
const D = C + 5
const ROUND = D + 5

type Code = readonly number[]

/** Instructions (WebAssembly core specification §5.4), each behind the code of what it works on. */
const get = (local: number): Code => [0x20, local]
const set = (local: number, value: Code): Code => [...value, 0x21, local]
const constant32 = (value: number): Code => [0x41, ...signed(value)]
const load = (address: Code, offset: number): Code => [...address, 0x29, 3, ...unsigned(offset)]
const store = (offset: number, value: Code): Code => [
  ...constant32(0),
  ...value,
  0x37,
  3,
  ...unsigned(offset),
]
const xor = (a: Code, b: Code): Code => [...a, ...b, 0x85]
const and = (a: Code, b: Code): Code => [...a, ...b, 0x83]
const not = (a: Code): Code => xor(a, [0x42, 0x7f])
const rotated = (a: Code, by: number): Code => [...a, 0x42, ...signed(by), 0x89]

/** Unsigned and signed LEB128 (§5.2.2) of what is not negative. */
function unsigned(value: number): Code {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >> 7)]
}
function signed(value: number): Code {
  return value < 64 ? [value] : [(value & 127) | 128, ...signed(value >> 7)]
}

const FIVE = [0, 1, 2, 3, 4] as const
const ALL = Array.from({ length: LANES }, (_, index) => index)
const lane = (x: number, y: number): number => (x % 5) + 5 * (y % 5)

const theta = (): Code => [
  ...FIVE.flatMap((x) => set(C + x, FIVE.map((y) => get(A + lane(x, y))).reduce(xor))),
  ...FIVE.flatMap((x) => set(D + x, xor(get(C + ((x + 4) % 5)), rotated(get(C + ((x + 1) % 5)), 1)))),
]

/** How far each lane is turned (§3.2.2). */
function offsets(): readonly number[] {
  const turned = Array<number>(LANES).fill(0)
  let [x, y] = [1, 0]
  for (let t = 0; t < ROUNDS; t++) {
    turned[lane(x, y)] = (((t + 1) * (t + 2)) / 2) % 64
    ;[x, y] = [y, (2 * x + 3 * y) % 5]
  }
  return turned
}

/** Also takes in what theta adds to each column. */
const rhoAndPi = (): Code =>
  offsets().flatMap((by, index) => {
    const [x, y] = [index % 5, Math.floor(index / 5)]
    return set(B + lane(y, 2 * x + 3 * y), rotated(xor(get(A + index), get(D + x)), by))
  })

const chi = (): Code =>
  ALL.flatMap((index) => {
    const [x, y] = [index % 5, Math.floor(index / 5)]
    const others = and(not(get(B + lane(x + 1, y))), get(B + lane(x + 2, y)))
    return set(A + index, xor(get(B + index), others))
  })

const iota = (): Code => set(A, xor(get(A), load(get(ROUND), CONSTANTS_AT)))

/** The state is read from the memory's beginning, and written there. The round counts bytes of constants. */
function permutation(): Code {
  const nextRound = [...set(ROUND, [...get(ROUND), ...constant32(8), 0x6a]), ...get(ROUND)]
  const isAnother = [...nextRound, ...constant32(8 * ROUNDS), 0x49]
  const round = [...theta(), ...rhoAndPi(), ...chi(), ...iota()]
  return [
    ...ALL.flatMap((index) => set(A + index, load(constant32(0), 8 * index))),
    // A loop without a result, begun again from its end while there is another round.
    0x03,
    0x40,
    ...round,
    ...isAnother,
    0x0d,
    0,
    0x0b,
    ...ALL.flatMap((index) => store(8 * index, get(A + index))),
    0x0b,
  ]
}

/** A module of one function `f` without parameters, and one page of memory `m` (§5.5). */
function moduleBytes(): Uint8Array {
  const section = (id: number, content: Code): Code => [id, ...unsigned(content.length), ...content]
  const body = [2, ROUND, 0x7e, 1, 0x7f, ...permutation()]
  const magic = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0]
  const exported = [2, 1, 0x6d, 2, 0, 1, 0x66, 0, 0]
  return Uint8Array.from([
    ...magic,
    ...section(1, [1, 0x60, 0, 0]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, 1]),
    ...section(7, exported),
    ...section(10, [1, ...unsigned(body.length), ...body]),
  ])
}

/** Writes the round constants (§3.2.5): bits of a shift register. */
function writeRoundConstants(memory: ArrayBuffer): void {
  const constants = new BigUint64Array(memory, CONSTANTS_AT, ROUNDS)
  let register = 1
  for (let round = 0; round < ROUNDS; round++) {
    for (let j = 0; j < 7; j++) {
      if ((register & 1) === 1) constants[round] = (constants[round] ?? 0n) ^ (1n << (2n ** BigInt(j) - 1n))
      register = (register << 1) ^ ((register >> 7) * 0x171)
    }
  }
}

const { m, f: permute } = new WebAssembly.Instance(new WebAssembly.Module(moduleBytes())).exports as {
  readonly m: { readonly buffer: ArrayBuffer }
  readonly f: () => void
}
writeRoundConstants(m.buffer)
const state = new Uint8Array(m.buffer, 0, 8 * LANES)

/**
 * The hash of some bytes.
 *
 * @returns 32 bytes of the caller's own
 * @example Buffer.from(keccak256(new Uint8Array(0))).toString('hex') // 'c5d2460186f7233c927e7db2dcc703c0e500b653…'
 */
export function keccak256(bytes: Uint8Array): Uint8Array {
  state.fill(0)
  let at = 0
  for (let index = 0; index < bytes.length; index++) {
    state[at] = (state[at] ?? 0) ^ (bytes[index] ?? 0)
    at += 1
    if (at < RATE_BYTES) continue
    permute()
    at = 0
  }
  state[at] = (state[at] ?? 0) ^ 0x01
  state[RATE_BYTES - 1] = (state[RATE_BYTES - 1] ?? 0) ^ 0x80
  permute()
  return state.slice(0, DIGEST_BYTES)
}

/**
 * An address in the letters that EIP-55 makes a checksum of.
 *
 * @param address `0x` and 40 digits in hexadecimal
 */
export function checksummed(address: string): `0x${string}` {
  const digits = address.slice(2).toLowerCase()
  const sums = Buffer.from(keccak256(Buffer.from(digits))).toString('hex')
  return `0x${digits.replace(/[a-f]/g, (letter, at: number) => (sums.charAt(at) > '7' ? letter.toUpperCase() : letter))}`
}
