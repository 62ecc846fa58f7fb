/**
 * A stream of random numbers that is the same for the same seed, on every machine. Not for secrets.
 */
export interface Random {
  /** Uniform from 0 to below 1. */
  uniform(): number
  /** Standard normal, cut at about ±3.7. */
  normal(): number
}

/**
 * Thirty-two bits from a text; FNV-1a.
 *
 * @example hashText('seed/BTC') === hashText('seed/BTC')
 */
export function hashText(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return scramble(hash)
}

/** A seed for each index under a seed, so that none depends on those before it. */
export const seedAt = (seed: number, index: number): number =>
  scramble((seed ^ Math.imul(index + 1, 0x9e3779b1)) | 0)

/** @example createRandom(seedAt(hashText('seed/BTC'), hour)).normal() */
export function createRandom(seed: number): Random {
  let state = seed
  const bits = (): number => {
    state = (state + 0x9e3779b9) | 0
    return scramble(state)
  }
  return {
    uniform: () => bits() / 0x1_0000_0000,
    normal: () => NORMAL_QUANTILES[bits() >>> (32 - QUANTILE_BITS)] as number,
  }
}

/** Spreads every bit over all others, as the last step of MurmurHash3 does; answers an unsigned number. */
function scramble(value: number): number {
  let bits = value
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}

const QUANTILE_BITS = 12

/** Normal quantiles in the middle of equally likely parts: a look-up costs a tenth of a logarithm and a cosine. */
const NORMAL_QUANTILES = normalQuantiles(2 ** QUANTILE_BITS)

function normalQuantiles(parts: number): Float64Array {
  const quantiles = new Float64Array(parts)
  const step = 1 / 2_048
  let probability = 0
  let part = 0
  // Adds up the lower half of the bell; the upper half mirrors it.
  for (let x = -6; part < parts / 2; x += step) {
    const middle = x + step / 2
    probability += (Math.exp((-middle * middle) / 2) / Math.sqrt(2 * Math.PI)) * step
    while (part < parts / 2 && probability >= (part + 0.5) / parts) {
      quantiles[part] = x + step
      quantiles[parts - 1 - part] = -(x + step)
      part++
    }
  }
  return quantiles
}
