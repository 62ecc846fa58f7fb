const single = new Float32Array(1)
const bits = new Uint32Array(single.buffer)

/** Mantissa bits that are kept: neighbouring levels differ by at most 2^−11, about 0.05 %. */
const MANTISSA_BITS = 11
const DROPPED_BITS = 23 - MANTISSA_BITS
/** Values below 2^−27 share level 0; the 32 octaves above fill 16 bits. */
const LOWEST_EXPONENT = -27
const OFFSET = (127 + LOWEST_EXPONENT) << MANTISSA_BITS
const HIGHEST_LEVEL = 65_535

/**
 * A number from 0 as one of 65,536 levels that rise with it, evenly spaced in relative terms: the leading
 * bits of its binary form. Made of bits instead of a logarithm, so that every machine agrees.
 *
 * @param value from 0; all below 2^−27 read 0, all from 32 read 65,535
 * @example logLevel(0.011) > logLevel(0.01)
 */
export function logLevel(value: number): number {
  single[0] = value
  const level = ((bits[0] ?? 0) >>> DROPPED_BITS) - OFFSET
  return level < 0 ? 0 : level > HIGHEST_LEVEL ? HIGHEST_LEVEL : level
}
