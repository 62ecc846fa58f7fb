import { expect, it } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { Json } from '../../../contracts/infra/json.ts'
import type { BusHarness } from '../../../testing/bus-harness.ts'
import type { Bus, RequestHandler } from './bus.ts'

/** The part of the bus contract about requests and their answers. */
export function describeRequests(given: () => BusHarness, newTopic: () => string): void {
  const timeoutMs = 5_000

  it('answers a request', async () => {
    const { bus, peer } = given()
    const topic = newTopic()
    await serve(peer, `engine.${topic}`, async (body) => ({ asked: body }))
    const answer = await bus.request(`engine.${topic}`, { coin: 'BTC' }, { timeoutMs })
    expect(answer).toEqual({ asked: { coin: 'BTC' } })
  })

  it('refuses a request at once that nobody answers, or no longer', async () => {
    const { bus, peer } = given()
    const topic = newTopic()
    const unserved = bus.request(topic, null, { timeoutMs: 600_000 })
    await expect(unserved).rejects.toMatchObject({ code: 'dependency_unavailable' })
    const stop = await serve(peer, topic, async () => 1)
    expect(await bus.request(topic, null, { timeoutMs })).toBe(1)
    stop()
    await peer.health()
    const gone = bus.request(topic, null, { timeoutMs: 600_000 })
    await expect(gone).rejects.toThrow(`nobody answers requests to ${topic}`)
  })

  it('passes on the error of a handler', async () => {
    const { bus, peer, faults } = given()
    const topic = newTopic()
    await serve(peer, `${topic}.refuse`, async () => {
      throw new ServiceError('insufficient_history', { message: 'only 3 bars', details: { bars: 3 } })
    })
    const refused = bus.request(`${topic}.refuse`, null, { timeoutMs })
    await expect(refused).rejects.toMatchObject({
      code: 'insufficient_history',
      message: 'only 3 bars',
      details: { bars: 3 },
    })
    await serve(peer, `${topic}.fail`, async () => {
      throw new TypeError('a bug')
    })
    const before = faults.length
    const failed = bus.request(`${topic}.fail`, null, { timeoutMs })
    await expect(failed).rejects.toMatchObject({ code: 'internal_error' })
    expect(faults.slice(before).map(({ cause }) => cause)).toEqual([new TypeError('a bug')])
  })

  it('refuses an answer that is not JSON', async () => {
    const { bus, peer } = given()
    const topic = newTopic()
    await serve(peer, topic, async () => Number.POSITIVE_INFINITY)
    await expect(bus.request(topic, null, { timeoutMs })).rejects.toMatchObject({ code: 'internal_error' })
  })

  it('does not wait longer than its time', async () => {
    const { bus, peer } = given()
    const topic = newTopic()
    const { promise: never, resolve: letGo } = Promise.withResolvers<Json>()
    await serve(peer, topic, () => never)
    const late = bus.request(topic, null, { timeoutMs: 50 })
    await expect(late).rejects.toMatchObject({ code: 'dependency_unavailable' })
    await expect(late).rejects.toThrow('50 ms')
    letGo(null)
  })

  it('gives each request to one of those that serve it', async () => {
    const { bus, peer } = given()
    const topic = newTopic()
    const asked: Json[] = []
    const handler = async (body: Json): Promise<Json> => asked.push(body)
    await serve(bus, topic, handler)
    await serve(peer, topic, handler)
    await Promise.all(Array.from({ length: 20 }, (_, index) => bus.request(topic, index, { timeoutMs })))
    expect(new Set(asked)).toEqual(new Set(Array.from({ length: 20 }, (_, index) => index)))
    expect(asked).toHaveLength(20)
  })
}

/** Serves, waits until the bus knows of it, and gives back how to stop. */
async function serve(bus: Bus, subject: string, handler: RequestHandler): Promise<() => void> {
  const serving = new AbortController()
  bus.serve(subject, handler, { signal: serving.signal })
  await bus.health()
  return () => serving.abort()
}
