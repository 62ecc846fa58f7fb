import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { BusHarness } from '../../../testing/bus-harness.ts'
import type { Bus } from './bus.ts'
import { describeRequests } from './bus-requests.contract.ts'

/** The promises of every bus, whatever it runs on. */
export function describeBusContract(name: string, openHarness: () => Promise<BusHarness>): void {
  describe(`bus contract: ${name}`, () => {
    let harness: BusHarness
    const run = `${process.pid}-${Date.now().toString(36)}`
    let topics = 0

    beforeAll(async () => {
      harness = await openHarness()
    })

    afterAll(() => harness.close())

    /** Subjects of one test, apart from those of others and of earlier runs on the same server. */
    const newTopic = (): string => `t${run}-${++topics}`

    describeNotifying(() => harness, newTopic)
    describeRefusals(() => harness, newTopic)
    describeRequests(() => harness, newTopic)
    describeClosing(() => harness, newTopic)
  })
}

/** Listens once the bus knows of it, and counts. */
async function listen(bus: Bus, subject: string): Promise<{ readonly count: () => number; end(): void }> {
  const ending = new AbortController()
  let count = 0
  bus.listen(subject, () => void count++, { signal: ending.signal })
  await bus.health()
  return { count: () => count, end: () => ending.abort() }
}

function describeNotifying(given: () => BusHarness, newTopic: () => string): void {
  it('wakes every listener of the subject, in each process, once for each notification', async () => {
    const { bus, peer } = given()
    const topic = newTopic()
    const listeners = [await listen(bus, topic), await listen(peer, topic), await listen(peer, topic)]
    const other = await listen(peer, `${topic}.other`)
    for (let sent = 0; sent < 20; sent++) await bus.notify(topic)
    await vi.waitUntil(() => listeners.every(({ count }) => count() === 20), { timeout: 5_000, interval: 2 })
    await Promise.all([bus.health(), peer.health()])
    expect(listeners.map(({ count }) => count())).toEqual([20, 20, 20])
    expect(other.count()).toBe(0)
  })

  it('tells nothing to those who listened no longer, or not yet', async () => {
    const { bus, peer } = given()
    const topic = newTopic()
    const gone = await listen(peer, topic)
    gone.end()
    await peer.health()
    await bus.notify(topic)
    await Promise.all([bus.health(), peer.health()])
    const late = await listen(peer, topic)
    await bus.notify(topic)
    await vi.waitUntil(() => late.count() > 0, { timeout: 5_000, interval: 2 })
    expect(late.count()).toBe(1)
    expect(gone.count()).toBe(0)
  })

  it('does not begin to listen on a signal that is aborted', async () => {
    const { bus } = given()
    const topic = newTopic()
    let isWoken = false
    bus.listen(topic, () => (isWoken = true), { signal: AbortSignal.abort() })
    await bus.notify(topic)
    await bus.health()
    expect(isWoken).toBe(false)
  })
}

function describeRefusals(given: () => BusHarness, newTopic: () => string): void {
  it.each(['', 'signal.', 'signal.a b', 'signal..a', 'signal.*', 'signal.>'])(
    'refuses the subject %j',
    async (subject) => {
      const { bus } = given()
      const { signal } = new AbortController()
      const refusal = { code: 'internal_error' }
      await expect(bus.notify(subject)).rejects.toMatchObject(refusal)
      await expect(bus.request(subject, 1, { timeoutMs: 100 })).rejects.toMatchObject(refusal)
      expect(() => bus.listen(subject, () => undefined, { signal })).toThrow(ServiceError)
      expect(() => bus.serve(subject, async () => 1, { signal })).toThrow(ServiceError)
    },
  )

  it('refuses bodies that are not JSON or too large, and takes the largest', async () => {
    const { bus } = given()
    const topic = newTopic()
    const ending = new AbortController()
    bus.serve(topic, async (body) => (typeof body === 'string' ? body.length : 0), { signal: ending.signal })
    await bus.health()
    const ask = (body: string | number) => bus.request(topic, body, { timeoutMs: 5_000 })
    await expect(ask(Number.NaN)).rejects.toMatchObject({ code: 'internal_error' })
    await expect(ask('x'.repeat(LIMITS.busMessageBytes))).rejects.toMatchObject({ code: 'payload_too_large' })
    const largest = LIMITS.busMessageBytes - 2
    expect(await ask('x'.repeat(largest))).toBe(largest)
    ending.abort()
  })
}

function describeClosing(given: () => BusHarness, newTopic: () => string): void {
  it('ends everything, refuses what comes after, and can be closed twice', async () => {
    const topic = newTopic()
    const bus = await given().open()
    expect(await bus.health()).toMatchObject({ ok: true })
    const listener = await listen(bus, topic)
    await bus.close()
    await bus.close()
    const { signal } = new AbortController()
    const closed = { code: 'dependency_unavailable' }
    await expect(bus.notify(topic)).rejects.toMatchObject(closed)
    await expect(bus.request(topic, 1, { timeoutMs: 100 })).rejects.toMatchObject(closed)
    expect(() => bus.listen(topic, () => undefined, { signal })).toThrow(ServiceError)
    expect(() => bus.serve(topic, async () => 1, { signal })).toThrow(ServiceError)
    expect(await bus.health()).toMatchObject({ ok: false })
    expect(listener.count()).toBe(0)
  })
}
