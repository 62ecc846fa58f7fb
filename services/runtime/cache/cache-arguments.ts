import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { CACHE_TTL_MS } from './cache.ts'

/** Largest single increment; it keeps every reachable count an exact number. */
const LARGEST_INCREMENT = 1_000_000_000
/** Text without control characters. */
const PLAIN_TEXT = /^[^\p{Cc}\p{Cs}]+$/u

/** @throws ServiceError `internal_error` unless it is a key, lock name or token. */
export function checkKey(what: 'key' | 'lock name' | 'token', text: string): void {
  if (text.length > LIMITS.cacheKeyCharacters || !PLAIN_TEXT.test(text)) {
    const shown = JSON.stringify(text.slice(0, 80))
    throw argumentError(
      `the cache ${what} ${shown} is not 1 to ${LIMITS.cacheKeyCharacters} characters of plain text`,
    )
  }
}

/** @throws ServiceError `payload_too_large` past `LIMITS.cacheValueBytes`. */
export function checkValue(key: string, value: string): void {
  const bytes = Buffer.byteLength(value)
  if (bytes > LIMITS.cacheValueBytes) {
    throw new ServiceError('payload_too_large', {
      message: `the value of ${key} has ${bytes} bytes; the cache takes ${LIMITS.cacheValueBytes}`,
    })
  }
}

/** @throws ServiceError `internal_error` unless it is a time to live. */
export function checkTtl(ttlMs: number): void {
  if (!(Number.isInteger(ttlMs) && ttlMs >= 1 && ttlMs <= CACHE_TTL_MS)) {
    throw argumentError(
      `the time to live ${ttlMs} is not a whole number of milliseconds from 1 to ${CACHE_TTL_MS}`,
    )
  }
}

/** @throws ServiceError `internal_error` unless a counter can be incremented by it. */
export function checkIncrement(by: number): void {
  if (!(Number.isInteger(by) && by >= 1 && by <= LARGEST_INCREMENT)) {
    throw argumentError(`the increment ${by} is not a whole number from 1 to ${LARGEST_INCREMENT}`)
  }
}

const argumentError = (message: string): ServiceError => new ServiceError('internal_error', { message })
