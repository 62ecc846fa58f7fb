import { expect, test } from 'vitest'
import { createSingleFlight } from './single-flight.ts'

const later = <Value>() => Promise.withResolvers<Value>()

test('those of one key and fingerprint share the work of the first, and its failure', async () => {
  const flights = createSingleFlight<number>()
  const first = later<number>()
  let begun = 0
  const work = () => {
    begun += 1
    return first.promise
  }
  const all = [flights.run('k', 'f', work), flights.run('k', 'f', work), flights.run('k', 'f', work)]
  first.resolve(7)
  expect(await Promise.all(all)).toEqual([
    { value: 7, isShared: false },
    { value: 7, isShared: true },
    { value: 7, isShared: true },
  ])
  expect(begun).toBe(1)
  const failing = [1, 2].map(() => flights.run('k', 'f', () => Promise.reject(new Error('not this time'))))
  const outcomes = await Promise.allSettled(failing)
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(flights.size).toBe(0)
})

test('another request with the same key waits, and works itself once the first has ended', async () => {
  const flights = createSingleFlight<string>()
  const first = later<string>()
  const order: string[] = []
  const one = flights.run('k', 'f', () => first.promise)
  const others = ['g', 'h', 'g'].map((fingerprint) =>
    flights.run('k', fingerprint, async () => {
      order.push(fingerprint)
      return fingerprint
    }),
  )
  await Promise.resolve()
  expect(order).toEqual([])
  first.reject(new Error('recorded nothing'))
  await expect(one).rejects.toThrow('recorded nothing')
  expect((await Promise.all(others)).map(({ value }) => value)).toEqual(['g', 'h', 'g'])
  expect(order.filter((name) => name === 'h')).toHaveLength(1)
  expect(flights.size).toBe(0)
})

test('keys do not wait for one another, and the next of a key works anew', async () => {
  const flights = createSingleFlight<number>()
  const stuck = later<number>()
  const waiting = flights.run('k', 'f', () => stuck.promise)
  expect(await flights.run('other', 'f', async () => 2)).toEqual({ value: 2, isShared: false })
  stuck.resolve(1)
  await waiting
  expect(await flights.run('k', 'f', async () => 3)).toEqual({ value: 3, isShared: false })
})
