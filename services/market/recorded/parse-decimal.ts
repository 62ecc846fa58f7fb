const ZERO = 48
const NINE = 57
const POINT = 46
const MINUS = 45

const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/

/** Most digits of which every number is below 2^53. */
const EXACT_DIGITS = 15

const POWERS_OF_TEN = Array.from({ length: EXACT_DIGITS + 1 }, (_, power) => 10 ** power)

/**
 * The number written in some bytes, the same to the last bit as `Number` of the text, without making that text;
 * NaN where it is not a plain decimal number. Up to 15 digits are taken as one whole number, which is then
 * exact, as is the power of ten it is divided by, so the quotient is the nearest number there is.
 */
export function parseDecimal(bytes: Uint8Array, start: number, end: number): number {
  const isNegative = bytes[start] === MINUS
  let digits = 0
  let whole = 0
  let decimals = -1
  for (let at = isNegative ? start + 1 : start; at < end; at++) {
    const byte = bytes[at] as number
    if (byte >= ZERO && byte <= NINE) {
      whole = whole * 10 + (byte - ZERO)
      digits++
      if (decimals >= 0) decimals++
    } else if (byte === POINT && decimals < 0) {
      decimals = 0
    } else return parseText(bytes, start, end)
  }
  if (digits === 0 || digits > EXACT_DIGITS) return parseText(bytes, start, end)
  const value = decimals > 0 ? whole / (POWERS_OF_TEN[decimals] as number) : whole
  return isNegative ? -value : value
}

function parseText(bytes: Uint8Array, start: number, end: number): number {
  const text = Buffer.from(bytes.subarray(start, end)).toString('latin1').trim()
  return NUMBER.test(text) ? Number(text) : Number.NaN
}
