import { beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../contracts/limits.ts'
import type { DebitPlace } from '../../../projections/index.ts'
import { createUsedKeys, type UsedKeys } from './used-keys.ts'

const place = (revision: number): DebitPlace => ({ window: '2026-11', revision, requestHash: 'a'.repeat(64) })

let folded: number
let head: number
let asked: string[]
let indexed: Map<string, { place: DebitPlace; position: number }>
let waits: number
let onWait: () => void
let onHead: () => void
let keys: UsedKeys

beforeEach(() => {
  folded = 10
  head = 10
  asked = []
  indexed = new Map()
  waits = 0
  onHead = () => undefined
  onWait = () => {
    folded += 1
  }
  keys = createUsedKeys('payer', {
    index: {
      find(_payer, hash) {
        asked.push(hash)
        const found = indexed.get(hash)
        return found !== undefined && found.position <= folded ? found.place : undefined
      },
      position: () => String(folded),
    },
    head: async () => {
      const end = String(head)
      onHead()
      return end
    },
    now: () => waits * 5,
    sleep: async () => {
      waits += 1
      onWait()
    },
    signal: new AbortController().signal,
  })
})

describe('a key', () => {
  test('is unused once the index has passed the end of the log without it, and is then not looked up again', async () => {
    head = 13
    expect(await keys.lookUp('k')).toBeUndefined()
    expect(folded).toBe(13)
    expect(keys.isUnused('k')).toBe(true)
    asked = []
    await keys.lookUp('k')
    expect(asked).toEqual([])
  })

  test('that lies where the index has not come to yet is waited for', async () => {
    head = 13
    indexed.set('k', { place: place(4), position: 12 })
    expect(await keys.lookUp('k')).toEqual(place(4))
  })

  test('that the index has is answered without waiting for the end of the log', async () => {
    head = 1_000
    indexed.set('k', { place: place(4), position: 2 })
    expect(await keys.lookUp('k')).toEqual(place(4))
    expect(waits).toBe(0)
  })

  test('that was used meanwhile is known from memory, before the index has it', async () => {
    head = 13
    onWait = () => {
      folded += 1
      if (folded === 12) keys.add('k', place(7), '20')
    }
    expect(await keys.lookUp('k')).toMatchObject(place(7))
    expect(keys.isUnused('k')).toBe(false)
  })

  test('that memory has let go is waited for until the index has come to it', async () => {
    await keys.lookUp('something')
    keys.add('k', place(1), '20')
    indexed.set('k', { place: place(1), position: 20 })
    for (let n = 0; n < 2 * LIMITS.idempotencyKeysKept; n++) keys.add(`later ${n}`, place(2 + n), '21')
    expect(await keys.lookUp('k')).toEqual(place(1))
    expect(folded).toBeGreaterThanOrEqual(20)
  })

  test('is looked up again after events were missed, up to where the log ends then', async () => {
    await keys.lookUp('k')
    head = 15
    indexed.set('k', { place: place(9), position: 15 })
    keys.missedSome()
    expect(keys.isUnused('k')).toBe(false)
    expect(await keys.lookUp('k')).toEqual(place(9))
  })

  test('is looked up anew where events are missed in the middle of it', async () => {
    head = 12
    onWait = () => {
      folded += 1
      if (folded !== 11) return
      head = 16
      indexed.set('k', { place: place(9), position: 16 })
      keys.missedSome()
    }
    expect(await keys.lookUp('k')).toEqual(place(9))
  })

  test('is looked up to the new end where events are missed while the old one is asked for', async () => {
    onHead = () => {
      if (head === 16) return
      head = 16
      indexed.set('k', { place: place(9), position: 16 })
      keys.missedSome()
    }
    expect(await keys.lookUp('k')).toEqual(place(9))
  })

  test('is not taken for unused where the index stands still', async () => {
    head = 13
    onWait = () => undefined
    await expect(keys.lookUp('k')).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(keys.isUnused('k')).toBe(false)
  })
})
