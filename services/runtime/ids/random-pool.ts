/** Bytes that are fetched at a time: to fetch ten costs five times as much as all the rest of an id. */
const POOL_BYTES = 8_192

/**
 * Random bytes for ids, few at a time. Each byte is given once.
 *
 * @example const draw = createRandomPool(randomBytes); uuidV7(Date.now(), draw(10))
 */
export function createRandomPool(random: (bytes: number) => Uint8Array): (bytes: number) => Uint8Array {
  let pool = random(0)
  let given = 0
  return (bytes) => {
    if (given + bytes > pool.length) {
      pool = random(POOL_BYTES)
      given = 0
    }
    given += bytes
    return pool.subarray(given - bytes, given)
  }
}
