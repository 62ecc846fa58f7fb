import { expect, test } from 'vitest'
import { isServiceError } from '../../contracts/errors.ts'
import { createPageLine } from './page-line.ts'
import { createStreamSemaphore } from './stream-semaphore.ts'

/** A line on a clock that goes on by what pages take and places rest. */
function world(total: number) {
  let now = 0
  const rests: number[] = []
  const line = createPageLine({
    places: createStreamSemaphore({ what: 'pages', total, perAddress: total }),
    atOnce: 1,
    elapsed: () => now,
    async sleep(milliseconds) {
      rests.push(milliseconds)
      now += milliseconds
    },
  })
  return { line, rests, pass: (ms: number) => void (now += ms) }
}

test('a page for somebody alone is made at once, and nothing rests', async () => {
  const { line, rests, pass } = world(10)
  for (let n = 0; n < 3; n++) await line('192.0.2.1', async () => pass(20))
  expect(rests).toEqual([])
})

test('in a flood no more than a third of the time goes to pages, one after the other, in their order', async () => {
  const { line, rests, pass } = world(10)
  const order: number[] = []
  const made = Array.from({ length: 4 }, (_, n) =>
    line(`192.0.2.${n}`, async () => {
      order.push(n)
      pass(20)
    }),
  )
  await Promise.all(made)
  expect(order).toEqual([0, 1, 2, 3])
  expect(rests).toEqual([40, 40, 40])
})

test('a page that fails gives its place on, and who comes when too many wait is refused', async () => {
  const { line } = world(2)
  const { promise, resolve } = Promise.withResolvers<void>()
  const first = line('192.0.2.1', async () => {
    await promise
    throw new Error('a page that fails')
  })
  const second = line('192.0.2.2', async () => 'made')
  const third = line('192.0.2.3', async () => 'never').catch((error: unknown) => error)
  expect(isServiceError(await third, 'too_many_streams')).toBe(true)
  resolve()
  await expect(first).rejects.toThrow('a page that fails')
  expect(await second).toBe('made')
})
