import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../contracts/limits.ts'
import { comparePositions } from '../../contracts/position.ts'
import { createAwaitPosition } from './own-writes.ts'

/** A read model that stands where a test says, on a clock that goes on when somebody sleeps. */
function world(head = '100') {
  let [now, asked, sleeping] = [0, 0, Promise.withResolvers<void>()]
  const model = { position: '10', head, sleeps: true }
  const awaitPosition = createAwaitPosition({
    positions: {
      newest: () => model.position,
      behind: (wanted) =>
        [
          { name: 'debits', position: model.position, goesOn: true },
          { name: 'speech', position: '10', goesOn: false },
        ].filter(({ position }) => comparePositions(position, wanted) < 0),
      head: async () => {
        asked += 1
        return model.head
      },
    },
    elapsed: () => now,
    async sleep(ms) {
      now += ms
      if (model.sleeps) await sleeping.promise
    },
  })
  const wait = (given: unknown, address = '192.0.2.1', signal = new AbortController().signal) =>
    awaitPosition(given, { address, signal: () => signal })
  const wake = () => {
    sleeping.resolve()
    sleeping = Promise.withResolvers<void>()
  }
  return { model, wait, wake, asked: () => asked }
}

describe('who waits for a position', () => {
  test('goes on at once where it is reached, and when it is', async () => {
    const { model, wait, wake, asked } = world()
    for (const given of [undefined, 'start', '9', '10']) expect(await wait(given)).toEqual([])
    expect(asked()).toBe(0)
    const waiting = wait('11')
    for (const position of ['10', '11']) {
      await new Promise(setImmediate)
      model.position = position
      wake()
    }
    expect(await waiting).toEqual(['speech'])
  })

  test.each(['', '-1', '007', '1e9', '9'.repeat(21), '1/2/3', ['10', '10'], {}])(
    'is refused %j',
    async (given) => {
      await expect(world().wait(given)).rejects.toMatchObject({ code: 'invalid_request' })
    },
  )

  test.each(['101', '9'.repeat(20), '11/11'])(
    'is refused %s, which the log does not have, at once',
    async (given) => {
      const { model, wait } = world()
      model.sleeps = false
      await expect(wait(given)).rejects.toMatchObject({ code: 'position_unknown' })
      model.position = '100'
      await wait('100')
    },
  )

  test('is refused with the read model that is late, after a bounded time', async () => {
    const { model, wait } = world()
    model.sleeps = false
    await expect(wait('11')).rejects.toMatchObject({
      code: 'read_model_behind',
      details: { wait_for: '11', read_model: 'debits', position: '10', retry_after_s: 1 },
    })
  })

  test('holds no place of others, and none once it is answered or has left', async () => {
    const { model, wait, wake } = world()
    const own = Array.from({ length: LIMITS.positionWaitsPerAddress }, () => wait('11', '2001:db8:1:2::1'))
    // Another address of the same network, which is one caller's.
    await expect(wait('11', '2001:db8:1:3::1')).rejects.toMatchObject({ code: 'rate_limited' })
    const leaving = new AbortController()
    const left = wait('11', '192.0.2.7', leaving.signal)
    await new Promise(setImmediate)
    leaving.abort()
    wake()
    await expect(left).rejects.toMatchObject({ code: 'shutting_down' })
    model.position = '11'
    wake()
    await Promise.all(own)
    model.position = '10'
    model.sleeps = false
    await expect(wait('11', '2001:db8:1:3::1')).rejects.toMatchObject({ code: 'read_model_behind' })
    // A place goes to no address of which all are taken, however many it asks for at once.
    const many = await Promise.allSettled(Array.from({ length: 99 }, (_, n) => wait('11', `192.0.2.${n}`)))
    const codes = many.map((one) => (one as PromiseRejectedResult).reason.code)
    expect(new Set(codes)).toEqual(new Set(['read_model_behind', 'too_many_streams']))
  })
})
