import { describe, expect, test } from 'vitest'
import { createFairQueue, type FairQueue } from './fair-queue.ts'

const aLine = (change: Partial<Parameters<typeof createFairQueue>[0]> = {}): FairQueue =>
  createFairQueue({
    places: 2,
    waitingEach: 3,
    waitingInAll: 5,
    full: (whose, waiting) => new Error(`${whose} ${waiting}`),
    ...change,
  })

/** Works that end when they are told to, and the order in which they began. */
function works(line: FairQueue) {
  const begun: string[] = []
  const ends = new Map<string, PromiseWithResolvers<void>>()
  return {
    begun,
    ask: (name: string, gone?: AbortSignal) => {
      const end = Promise.withResolvers<void>()
      ends.set(name, end)
      const subject = name.slice(0, 1)
      return line.run(
        subject,
        async () => {
          begun.push(name)
          await end.promise
          return name
        },
        gone,
      )
    },
    end: async (name: string) => {
      ends.get(name)?.resolve()
      for (let n = 0; n < 10; n++) await Promise.resolve()
    },
  }
}

const settle = async () => {
  for (let n = 0; n < 10; n++) await Promise.resolve()
}

describe('a fair line', () => {
  test('does one work of a subject at a time, and as many in all as there are places', async () => {
    const { ask, begun, end } = works(aLine())
    const all = ['a1', 'a2', 'b1', 'c1'].map((name) => ask(name))
    await settle()
    expect(begun).toEqual(['a1', 'b1'])
    await end('b1')
    expect(begun).toEqual(['a1', 'b1', 'c1'])
    await end('a1')
    expect(begun).toEqual(['a1', 'b1', 'c1', 'a2'])
    await end('c1')
    await end('a2')
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'b1', 'c1'])
  })

  test('lets who asks for the first time pass all but one work of who asks often', async () => {
    const { ask, begun, end } = works(aLine({ places: 1 }))
    const all = ['a1', 'a2', 'a3', 'a4', 'b1'].map((name) => ask(name))
    await settle()
    for (const name of ['a1', 'a2', 'b1', 'a3', 'a4']) await end(name)
    await Promise.all(all)
    expect(begun.indexOf('b1')).toBeLessThanOrEqual(2)
  })

  test('refuses a subject that has as many waiting as it may, and everybody where the line is full', async () => {
    const { ask, end } = works(aLine({ places: 1 }))
    const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2'].map((name) => ask(name))
    await expect(ask('a5')).rejects.toThrow('subject 3')
    await expect(ask('c1')).rejects.toThrow('all 5')
    for (const name of ['a1', 'a2', 'b1', 'a3', 'b2', 'a4', 'a1', 'a2', 'a3', 'a4']) await end(name)
    await Promise.all(all)
  })

  test('gives the place on when a work fails', async () => {
    const line = aLine({ places: 1 })
    const failing = line.run('a', () => Promise.reject(new Error('no')))
    await expect(failing).rejects.toThrow('no')
    expect(await line.run('b', async () => 7)).toBe(7)
  })

  test('gives the result at once, and the place on when a rest as long as the work is over', async () => {
    const rests: { readonly ms: number; readonly end: () => void }[] = []
    let clock = 0
    const line = aLine({
      places: 1,
      now: () => clock,
      rest: (ms) => new Promise((end) => void rests.push({ ms, end })),
    })
    const first = line.run('a', async () => {
      clock += 7
      return 'done'
    })
    let isBegun = false
    const second = line.run('a', async () => {
      isBegun = true
    })
    expect(await first).toBe('done')
    await settle()
    expect([isBegun, rests.map(({ ms }) => ms)]).toEqual([false, [7]])
    rests[0]?.end()
    await settle()
    expect(isBegun).toBe(true)
    await second
  })

  test('does not begin what nobody waits for any more', async () => {
    const { ask, begun, end } = works(aLine({ places: 1 }))
    const gone = new AbortController()
    const [first, second, third] = [ask('a1'), ask('b1', gone.signal), ask('c1')]
    gone.abort(new Error('left'))
    await expect(second).rejects.toThrow('left')
    await end('a1')
    await end('c1')
    await Promise.all([first, third])
    expect(begun).toEqual(['a1', 'c1'])
    await expect(ask('d1', gone.signal)).rejects.toThrow('left')
  })
})
