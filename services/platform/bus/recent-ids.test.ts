import { describe, expect, it } from 'vitest'
import { createRecentIds } from './recent-ids.ts'

describe('recent ids', () => {
  it('remembers an id for its window and forgets it after two', () => {
    let nowMs = 1_000
    const recent = createRecentIds({ now: () => nowMs, windowMs: 100 })
    expect(recent.seen('a')).toBe(false)
    nowMs += 99
    expect(recent.seen('a')).toBe(true)
    expect(recent.seen('b')).toBe(false)
    nowMs += 99
    expect(recent.seen('b')).toBe(true)
    nowMs += 200
    expect(recent.seen('a')).toBe(false)
    expect(recent.seen('b')).toBe(false)
  })

  it('remembers no more than two generations, however many come at once', () => {
    const recent = createRecentIds({ now: () => 0, windowMs: 100 })
    recent.seen('first')
    for (let index = 0; index < 131_072; index++) recent.seen(`x${index}`)
    expect(recent.seen('first')).toBe(true)
    for (let index = 0; index < 131_072; index++) recent.seen(`y${index}`)
    expect(recent.seen('first')).toBe(false)
  })
})
