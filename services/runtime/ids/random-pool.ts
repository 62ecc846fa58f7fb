/**
 * Random bytes a few at a time from a larger supply: asking the operating system for every id costs as much as
 * the rest of a small append. No byte is handed out twice.
 *
 * @param fill unpredictable bytes, as `randomBytes` of `node:crypto` gives them
 * @example const random = createRandomPool(randomBytes); uuidV7(Date.now(), random(10))
 */
export function createRandomPool(
  fill: (bytes: number) => Uint8Array,
  poolBytes = 8_192,
): (bytes: number) => Uint8Array {
  let pool: Uint8Array = new Uint8Array(0)
  let used = 0
  return (bytes) => {
    if (bytes > poolBytes) return fill(bytes)
    if (used + bytes > pool.length) {
      pool = fill(poolBytes)
      used = 0
    }
    used += bytes
    return pool.subarray(used - bytes, used)
  }
}
