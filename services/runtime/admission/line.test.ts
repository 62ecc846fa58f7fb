import { describe, expect, test } from 'vitest'
import { createLine, type LineOptions } from './line.ts'

/** A line on a clock that goes on by what is waited for and by what work takes. */
function world(change: Partial<LineOptions> = {}) {
  let now = 0
  const timers = new Set<{ readonly at: number; readonly run: () => void }>()
  const line = createLine({
    places: 1,
    each: 4,
    waiting: 5,
    full: (whose, count) => new Error(`${whose} ${count}`),
    ...change,
    time: {
      elapsed: () => now,
      after(milliseconds, run) {
        const timer = { at: now + milliseconds, run }
        timers.add(timer)
        return () => timers.delete(timer)
      },
    },
  })
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  return {
    begun,
    line,
    /** Work whose name begins with its subject. */
    ask: async (name: string, gone?: AbortSignal): Promise<string> => {
      const leave = await line.enter(name.slice(0, 1), gone)
      begun.push(name)
      await new Promise<void>((resolve) => ends.set(name, resolve))
      leave()
      return name
    },
    end: async (...names: readonly string[]): Promise<void> => {
      for (const name of names) {
        ends.get(name)?.()
        await settle()
      }
    },
    pass: async (milliseconds: number): Promise<void> => {
      now += milliseconds
      const due = [...timers].filter(({ at }) => at <= now)
      for (const timer of due) {
        timers.delete(timer)
        timer.run()
      }
      await settle()
    },
    timers: () => timers.size,
  }
}

const settle = async (): Promise<void> => {
  for (let n = 0; n < 10; n++) await Promise.resolve()
}

describe('turns', () => {
  test('are one of a subject at a time, and as many in all as there are places', async () => {
    const { ask, begun, end } = world({ places: 2 })
    const all = ['a1', 'a2', 'b1', 'c1'].map((name) => ask(name))
    await settle()
    expect(begun).toEqual(['a1', 'b1'])
    await end('b1')
    expect(begun).toEqual(['a1', 'b1', 'c1'])
    await end('a1')
    expect(begun).toEqual(['a1', 'b1', 'c1', 'a2'])
    await end('c1', 'a2')
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'b1', 'c1'])
  })

  test('go round: a newcomer waits for one work of each, however many each has asked for', async () => {
    const { ask, begun, end } = world({ waiting: 6 })
    const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) => ask(name))
    await settle()
    await end('a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4')
    await Promise.all(all)
    expect(begun).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
  })

  test('are given on when work fails, and are given back once', async () => {
    const { line, ask, begun, end } = world()
    const leave = await line.enter('a')
    const waiting = [ask('b1'), ask('c1')]
    leave()
    leave()
    await settle()
    expect(begun).toEqual(['b1'])
    await end('b1', 'c1')
    await Promise.all(waiting)
  })
})

describe('room in the line', () => {
  test('is so much for one subject, what is under way included', async () => {
    const { ask, end } = world()
    const all = ['a1', 'a2', 'a3', 'a4'].map((name) => ask(name))
    await expect(ask('a5')).rejects.toThrow('subject 4')
    await end('a1')
    const fifth = ask('a5')
    await end('a2', 'a3', 'a4', 'a5')
    await Promise.all([...all, fifth])
  })

  test('is found for who has less, at the cost of the last one of who has most', async () => {
    const { ask, begun, end } = world()
    const asked = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2'].map((name) => ask(name).catch(String))
    await settle()
    // Five wait. Somebody new takes the last place of who has four; then of one of those that have more than one.
    const visitors = [ask('c1').catch(String), ask('d1').catch(String)]
    await settle()
    await end('a1', 'b1', 'c1', 'd1', 'a2', 'b2')
    expect(await Promise.all([...asked, ...visitors])).toEqual([
      'a1',
      'a2',
      'Error: all 5',
      'Error: all 5',
      'b1',
      'b2',
      'c1',
      'd1',
    ])
    expect(begun).toEqual(['a1', 'b1', 'c1', 'd1', 'a2', 'b2'])
  })

  test('is refused where nobody has more of it', async () => {
    const { ask, end } = world({ waiting: 2 })
    const all = ['a1', 'b1', 'c1'].map((name) => ask(name))
    await expect(ask('d1')).rejects.toThrow('all 2')
    await expect(ask('b2')).rejects.toThrow('all 2')
    await end('a1', 'b1', 'c1')
    await Promise.all(all)
  })
})

test('what nobody waits for any more is not begun', async () => {
  const { ask, begun, end } = world()
  const gone = new AbortController()
  const [first, second, third] = [ask('a1'), ask('b1', gone.signal), ask('c1')]
  gone.abort(new Error('left'))
  await expect(second).rejects.toThrow('left')
  await end('a1', 'c1')
  await Promise.all([first, third])
  expect(begun).toEqual(['a1', 'c1'])
  await expect(ask('d1', gone.signal)).rejects.toThrow('left')
})

describe('a place', () => {
  test('rests after its work where others wait, and the result does not wait for that', async () => {
    const { ask, begun, end, pass, timers } = world({
      restMs: (workedMs, waiting) => (waiting === 0 ? 0 : 2 * workedMs),
    })
    const all = [ask('a1'), ask('b1')]
    await pass(20)
    await end('a1')
    expect(await all[0]).toBe('a1')
    await pass(39)
    expect(begun).toEqual(['a1'])
    await pass(1)
    expect(begun).toEqual(['a1', 'b1'])
    await end('b1')
    await Promise.all(all)
    expect(timers()).toBe(0)
  })

  test('that is held for long is given on; what held it goes on, counts for its subject, and gives nothing on twice', async () => {
    const { ask, begun, end, pass, timers } = world({ heldMs: 2_000, each: 2 })
    const all = ['a1', 'b1', 'c1'].map((name) => ask(name))
    await pass(1_999)
    expect(begun).toEqual(['a1'])
    await pass(1)
    expect(begun).toEqual(['a1', 'b1'])
    const another = ask('a2')
    await expect(ask('a3')).rejects.toThrow('subject 2')
    await end('a1')
    expect(begun).toEqual(['a1', 'b1'])
    await end('b1', 'c1', 'a2')
    expect(await Promise.all([...all, another])).toEqual(['a1', 'b1', 'c1', 'a2'])
    expect(timers()).toBe(0)
  })
})
