/** Notices shards that the log gives to this process, and on which nothing goes on. */
export type IdleWatch = ReturnType<typeof createIdleWatch>

/**
 * @param isWorking whether the work on a shard goes on
 * @param elapsed milliseconds of a clock that is never set
 */
export function createIdleWatch(
  isWorking: (shard: number) => boolean,
  elapsed: () => number,
  idleMs: number,
) {
  /** Since when each shard has been without work. */
  let without = new Map<number, number>()
  let assigned: readonly number[] = []

  function look(): void {
    const at = elapsed()
    const resting = assigned.filter((shard) => !isWorking(shard))
    without = new Map(resting.map((shard) => [shard, without.get(shard) ?? at]))
  }

  return {
    /** Takes down what the log gives to this process now. */
    assign(shards: readonly number[]): void {
      assigned = shards
      look()
    },
    /** Shards without work for longer than a claim and a start can take. */
    idle() {
      look()
      const at = elapsed()
      return [...without].filter(([, since]) => at - since >= idleMs).map(([shard]) => shard)
    },
  }
}
