/**
 * A version 7 UUID (RFC 9562 §5.7): Unix milliseconds, then random bits, so that ids made later sort later. @param
 * random at least 10 bytes.
 */
export const uuidV7 = (timeMs: number, random: Uint8Array): string =>
  formatUuid(`${timeDigits(timeMs)}${hex(random.subarray(0, 10))}`, '7')

/**
 * A version 8 UUID (RFC 9562 §5.8) over 16 bytes of the caller's making. @param bytes at least 16 bytes; version and
 * variant replace 6 bits of them.
 */
export const uuidV8 = (bytes: Uint8Array): string => formatUuid(hex(bytes.subarray(0, 16)), '8')

/**
 * A version 8 UUID that begins with a time as version 7 does, and goes on with bits of the caller's making. @param
 * digits at least 20 hexadecimal digits.
 */
export const timedUuidV8 = (timeMs: number, digits: string): string =>
  formatUuid(timeDigits(timeMs) + digits.slice(0, 20), '8')

/** Many ids are made in one millisecond. */
function timeDigits(timeMs: number): string {
  if (timeMs !== newest.timeMs) {
    newest = { timeMs, digits: Math.trunc(timeMs).toString(16).padStart(12, '0') }
  }
  return newest.digits
}

let newest = { timeMs: 0, digits: '0'.repeat(12) }

const DIGITS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** An id has so few bytes that a buffer for them would cost more. */
function hex(bytes: Uint8Array): string {
  let digits = ''
  for (const byte of bytes) digits += DIGITS[byte]
  return digits
}

/** The fourth group begins with two bits that say how to read the rest (RFC 9562 §4.1). */
const VARIANTS = '89ab'

function formatUuid(digits: string, version: '7' | '8'): string {
  const variant = VARIANTS[Number.parseInt(digits[16] ?? '0', 16) & 0x3]
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${version}${digits.slice(13, 16)}-${variant}${digits.slice(17, 20)}-${digits.slice(20, 32)}`
}
