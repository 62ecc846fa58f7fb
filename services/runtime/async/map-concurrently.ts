/**
 * Works on many items, a bounded number at a time, each begun in order; answers in the order of the items.
 * What one of them fails with is thrown, after which no further one is begun.
 */
export async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  let next = 0
  let hasFailed = false
  async function worker(): Promise<void> {
    while (next < items.length && !hasFailed) {
      const index = next++
      try {
        results[index] = await work(items[index] as Item)
      } catch (error) {
        hasFailed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker))
  return results
}
