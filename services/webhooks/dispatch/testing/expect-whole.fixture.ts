import { expect } from 'vitest'
import type { Post } from './dispatch-world.fixture.ts'

export const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1)

/** Every sequence once at least; the same delivery with the same bytes every time. */
export function expectWhole(posts: readonly Post[], last: number): void {
  const bodies = new Map<number, string>()
  for (const { sequence, deliveryId, sha256 } of posts) {
    const known = bodies.get(sequence) ?? `${deliveryId} ${sha256}`
    expect(`${deliveryId} ${sha256}`).toBe(known)
    bodies.set(sequence, known)
  }
  expect([...bodies.keys()].toSorted((a, b) => a - b)).toEqual(upTo(last))
}
