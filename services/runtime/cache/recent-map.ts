/**
 * A map that keeps what was set last: setting an entry again renews it, and past the limit the one that was set longest
 * ago goes.
 *
 * @example new RecentMap<string, number>(2).set('a', 1).set('b', 2).set('a', 3).set('c', 4).has('b') === false
 */
export class RecentMap<Key, Value> extends Map<Key, Value> {
  readonly #most: number

  constructor(most: number) {
    super()
    this.#most = most
  }

  override set(key: Key, value: Value): this {
    this.delete(key)
    super.set(key, value)
    for (const oldest of this.keys()) {
      if (this.size <= this.#most) break
      this.delete(oldest)
    }
    return this
  }
}
