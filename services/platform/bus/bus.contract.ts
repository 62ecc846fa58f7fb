import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ServiceError } from '../../../contracts/errors.ts'
import type { Json } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Bus, BusMessage, ConsumeOptions, Consumption } from './bus.ts'
import type { BusHarness } from './bus-harness.ts'
import { describeRequests } from './bus-requests.contract.ts'

/** What every bus promises, whatever it runs on. */
export function describeBusContract(name: string, openHarness: () => Promise<BusHarness>): void {
  describe(`bus contract: ${name}`, () => {
    let harness: BusHarness
    const run = `${process.pid}-${Date.now().toString(36)}`
    let topics = 0

    beforeAll(async () => {
      harness = await openHarness()
    })

    afterAll(() => harness.close())

    /** Subjects and names of one test, apart from those of others and of earlier runs on the same server. */
    const newTopic = (): string => `t${run}-${++topics}`

    describePublishing(() => harness, newTopic)
    describeConsuming(() => harness, newTopic)
    describeRedelivery(() => harness, newTopic)
    describeRefusals(() => harness, newTopic)
    describeRequests(() => harness, newTopic)
    describeClosing(() => harness, newTopic)
  })
}

/** A consumer under test, whose messages are taken one by one. */
interface Taker extends AsyncDisposable {
  next(): Promise<BusMessage>
  /** Takes and acknowledges that many. */
  take(count: number): Promise<BusMessage[]>
  end(): void
}

async function consume(bus: Bus, options: Omit<ConsumeOptions, 'signal'>): Promise<Taker> {
  const ending = new AbortController()
  const consumption = bus.consume({ ...options, signal: ending.signal })
  const messages = consumption[Symbol.asyncIterator]()
  await consumption.established
  const next = async (): Promise<BusMessage> => {
    const { value, done } = await messages.next()
    if (done === true) throw new Error('the consumption ended')
    return value
  }
  return {
    next,
    async take(count) {
      const taken: BusMessage[] = []
      while (taken.length < count) {
        const message = await next()
        message.ack()
        taken.push(message)
      }
      return taken
    },
    end: () => ending.abort(),
    async [Symbol.asyncDispose]() {
      ending.abort()
      await messages.return?.()
    },
  }
}

async function publish(bus: Bus, subject: string, ids: readonly string[]): Promise<void> {
  for (const id of ids) await bus.publish({ id, subject, body: { id } })
}

const idsOf = (messages: readonly BusMessage[]): string[] => messages.map(({ id }) => id)
const numbered = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`)

function describePublishing(given: () => BusHarness, newTopic: () => string): void {
  it('delivers what was published, as it was published and in order', async () => {
    const { bus, peer } = given()
    const topic = newTopic()
    await using taker = await consume(peer, { name: topic, subjects: [`signal.${topic}.>`] })
    const bodies: Json[] = [{ a: [1, null, 'ü☂'] }, 'text', 0, null, [], { nested: { deep: [true] } }]
    for (const [index, body] of bodies.entries()) {
      const result = await bus.publish({ id: `${topic}-${index}`, subject: `signal.${topic}.SIM.BTC`, body })
      expect(result).toEqual({ duplicate: false })
    }
    const taken = await taker.take(bodies.length)
    expect(taken.map(({ body }) => body)).toEqual(bodies)
    expect(idsOf(taken)).toEqual(numbered(topic, bodies.length))
    expect(taken.every(({ subject }) => subject === `signal.${topic}.SIM.BTC`)).toBe(true)
    expect(taken.some(({ redelivered }) => redelivered)).toBe(false)
  })

  it('drops what is published again with the same id, and says so', async () => {
    const { bus, peer } = given()
    const topic = newTopic()
    await using taker = await consume(peer, { name: topic, subjects: [`signal.${topic}`] })
    const message = { id: `${topic}-once`, subject: `signal.${topic}`, body: 1 }
    expect(await bus.publish(message)).toEqual({ duplicate: false })
    expect(await bus.publish(message)).toEqual({ duplicate: true })
    expect(await peer.publish(message)).toEqual({ duplicate: true })
    await publish(bus, `signal.${topic}`, [`${topic}-last`])
    expect(idsOf(await taker.take(2))).toEqual([`${topic}-once`, `${topic}-last`])
  })

  it('gives every reader a body of its own', async () => {
    const { bus } = given()
    const topic = newTopic()
    await using one = await consume(bus, { name: `${topic}-one`, subjects: [`signal.${topic}`] })
    await using two = await consume(bus, { name: `${topic}-two`, subjects: [`signal.${topic}`] })
    const body = { list: [1] }
    await bus.publish({ id: topic, subject: `signal.${topic}`, body })
    body.list.push(2)
    const first = await one.next()
    expect(first.body).toEqual({ list: [1] })
    Object.assign(first.body ?? {}, { list: [3] })
    expect((await two.next()).body).toEqual({ list: [1] })
  })
}

function describeConsuming(given: () => BusHarness, newTopic: () => string): void {
  it('matches one token with * and the rest with >', async () => {
    const { bus, peer } = given()
    const topic = newTopic()
    const subjects = [`signal.${topic}.coin.*.BTC`, `signal.${topic}.rest.>`]
    await using taker = await consume(peer, { name: topic, subjects })
    await publish(bus, `signal.${topic}.coin.SIM.BTC`, [`${topic}-star`])
    await publish(bus, `signal.${topic}.coin.SIM.ETH`, [`${topic}-other-coin`])
    await publish(bus, `signal.${topic}.coin.SIM.BTC.1m`, [`${topic}-too-long`])
    await publish(bus, `signal.${topic}.rest`, [`${topic}-too-short`])
    await publish(bus, `signal.${topic}.rest.a.b.c`, [`${topic}-tail`])
    const taken = await taker.take(2)
    expect(idsOf(taken).toSorted()).toEqual([`${topic}-star`, `${topic}-tail`])
    await publish(bus, `signal.${topic}.coin.OKX.BTC`, [`${topic}-end`])
    expect(idsOf(await taker.take(1))).toEqual([`${topic}-end`])
  })

  it('shares the messages of a name among its consumers, each to one of them', async () => {
    const { bus, peer } = given()
    const topic = newTopic()
    const options = { name: topic, subjects: [`signal.${topic}`], maxInFlight: 4 }
    await using one = await consume(bus, options)
    await using two = await consume(peer, options)
    const ids = numbered(topic, 40)
    const taken: string[] = []
    const done = Promise.withResolvers<void>()
    const drain = async (taker: Taker): Promise<void> => {
      for (;;) {
        taken.push(...idsOf(await taker.take(1)))
        if (new Set(taken).size === ids.length) done.resolve()
      }
    }
    const ends = Promise.allSettled([drain(one), drain(two)])
    await publish(bus, `signal.${topic}`, ids)
    await done.promise
    one.end()
    two.end()
    await ends
    expect(taken.toSorted()).toEqual(ids.toSorted())
  })

  it('gives every name all messages', async () => {
    const { bus, peer } = given()
    const topic = newTopic()
    await using one = await consume(bus, { name: `${topic}-one`, subjects: [`signal.${topic}`] })
    await using two = await consume(peer, { name: `${topic}-two`, subjects: [`signal.${topic}`] })
    const ids = numbered(topic, 5)
    await publish(bus, `signal.${topic}`, ids)
    expect(idsOf(await one.take(5))).toEqual(ids)
    expect(idsOf(await two.take(5))).toEqual(ids)
  })

  it('keeps the messages of a name while none of its consumers is there', async () => {
    const { bus, peer } = given()
    const topic = newTopic()
    const options = { name: topic, subjects: [`signal.${topic}`] }
    const before = await consume(bus, options)
    before.end()
    const ids = numbered(topic, 3)
    await publish(peer, `signal.${topic}`, ids)
    await using after = await consume(peer, options)
    // What the one that left had been handed comes again, behind the others.
    expect(idsOf(await after.take(3)).toSorted()).toEqual(ids)
  })

  it('ends an iteration on its signal, and does not begin one whose signal is aborted', async () => {
    const { bus } = given()
    const topic = newTopic()
    const ending = new AbortController()
    const options = { name: topic, subjects: [`signal.${topic}`], signal: ending.signal }
    const waiting = readAll(bus.consume(options))
    ending.abort()
    expect(await waiting).toEqual([])
    const late = bus.consume(options)
    await late.established
    expect(await readAll(late)).toEqual([])
  })

  it('ends a consumption whose iteration is left, so that others get what it did not look at', async () => {
    const { bus, peer } = given()
    const topic = newTopic()
    const options = { name: topic, subjects: [`signal.${topic}`] }
    const ids = numbered(topic, 6)
    const leaving = bus.consume({ ...options, signal: new AbortController().signal })
    await leaving.established
    await publish(bus, `signal.${topic}`, ids)
    for await (const message of leaving) {
      message.ack()
      break
    }
    await using staying = await consume(peer, options)
    const unseen = new Set(ids.slice(1))
    while (unseen.size > 0) {
      const [message] = await staying.take(1)
      unseen.delete(message?.id ?? '')
    }
    expect(unseen).toEqual(new Set())
  })
}

async function readAll(consumption: Consumption): Promise<BusMessage[]> {
  const messages: BusMessage[] = []
  for await (const message of consumption) messages.push(message)
  return messages
}

function describeRedelivery(given: () => BusHarness, newTopic: () => string): void {
  it('delivers again what was not acknowledged, with the same id, and not what was', async () => {
    const { bus, peer } = given()
    const topic = newTopic()
    await using taker = await consume(peer, { name: topic, subjects: [`signal.${topic}`] })
    await publish(bus, `signal.${topic}`, numbered(topic, 3))
    const first = await taker.next()
    const [second, third] = await taker.take(2)
    expect(idsOf([first, second, third].filter((message) => message !== undefined))).toEqual(
      numbered(topic, 3),
    )
    const again = await taker.next()
    expect(again.id).toBe(first.id)
    expect(again.body).toEqual(first.body)
    expect(again.redelivered).toBe(true)
    again.ack()
    await publish(bus, `signal.${topic}`, [`${topic}-after`])
    expect(idsOf(await taker.take(1))).toEqual([`${topic}-after`])
  })

  it('delivers again to another consumer what one that is gone did not acknowledge', async () => {
    const { bus, peer } = given()
    const topic = newTopic()
    const options = { name: topic, subjects: [`signal.${topic}`] }
    const gone = await consume(bus, options)
    await publish(bus, `signal.${topic}`, [topic])
    expect((await gone.next()).id).toBe(topic)
    gone.end()
    await using taker = await consume(peer, options)
    const [again] = await taker.take(1)
    expect(again).toMatchObject({ id: topic, redelivered: true })
  })

  it('holds no more unacknowledged than maxInFlight, and goes on after an acknowledgement', async () => {
    const { bus, peer } = given()
    const topic = newTopic()
    await using taker = await consume(peer, { name: topic, subjects: [`signal.${topic}`], maxInFlight: 2 })
    await publish(bus, `signal.${topic}`, numbered(topic, 5))
    const held = [await taker.next(), await taker.next()]
    let third: BusMessage | undefined
    const arrival = (async () => {
      third = await taker.next()
    })()
    await bus.health()
    await peer.health()
    expect(third).toBeUndefined()
    for (const message of held) message.ack()
    await arrival
    third?.ack()
    const rest = await taker.take(2)
    expect(idsOf([...held, ...(third === undefined ? [] : [third]), ...rest])).toEqual(numbered(topic, 5))
  })

  it('goes on when messages are never acknowledged, repeating them', async () => {
    const { bus } = given()
    const topic = newTopic()
    await using taker = await consume(bus, { name: topic, subjects: [`signal.${topic}`], maxInFlight: 1 })
    await publish(bus, `signal.${topic}`, numbered(topic, 2))
    const seen = new Set<string>()
    let redelivered = 0
    while (seen.size < 2 || redelivered === 0) {
      const message = await taker.next()
      seen.add(message.id)
      if (message.redelivered) {
        redelivered++
        message.ack()
      }
    }
    expect(seen).toEqual(new Set(numbered(topic, 2)))
  })
}

function describeRefusals(given: () => BusHarness, newTopic: () => string): void {
  const badSubjects = ['', 'signal', 'other.a', 'signal.', 'signal.a b', 'signal..a', 'signal.*', 'signal.>']

  it.each(badSubjects)('refuses to publish to %j', async (subject) => {
    await expect(given().bus.publish({ id: 'a', subject, body: 1 })).rejects.toMatchObject({
      code: 'internal_error',
    })
  })

  it('refuses ids and bodies that are none, and messages that are too large', async () => {
    const { bus } = given()
    const subject = `signal.${newTopic()}`
    const refusal = { code: 'internal_error' }
    await expect(bus.publish({ id: '', subject, body: 1 })).rejects.toMatchObject(refusal)
    await expect(bus.publish({ id: 'a\r\nb', subject, body: 1 })).rejects.toMatchObject(refusal)
    await expect(bus.publish({ id: 'a', subject, body: Number.NaN })).rejects.toMatchObject(refusal)
    const tooLarge = bus.publish({ id: 'a', subject, body: 'x'.repeat(LIMITS.busMessageBytes) })
    await expect(tooLarge).rejects.toMatchObject({ code: 'payload_too_large' })
    const largest = 'x'.repeat(LIMITS.busMessageBytes - 2)
    await expect(bus.publish({ id: subject, subject, body: largest })).resolves.toEqual({ duplicate: false })
  })

  it.each([
    ['no subject', 'a', []],
    ['a name with a dot', 'a.b', ['signal.a']],
    ['> before the end', 'a', ['signal.>.a']],
    ['a wildcard root', 'a', ['*.a']],
    ['everything', 'a', ['>']],
    ['overlapping subjects', 'a', ['signal.a.*', 'signal.*.b']],
  ])('refuses to consume with %s', (_what, name, subjects) => {
    const { signal } = new AbortController()
    expect(() => given().bus.consume({ name, subjects, signal })).toThrow(ServiceError)
  })

  it.each([0, -1, 1.5, Number.POSITIVE_INFINITY])('refuses to hold %d messages', (maxInFlight) => {
    const { signal } = new AbortController()
    const options = { name: 'a', subjects: ['signal.a'], signal, maxInFlight }
    expect(() => given().bus.consume(options)).toThrow('maxInFlight')
  })
}

function describeClosing(given: () => BusHarness, newTopic: () => string): void {
  it('ends everything, refuses what comes after, and can be closed twice', async () => {
    const topic = newTopic()
    const bus = await given().open()
    expect(await bus.health()).toMatchObject({ ok: true })
    const { signal } = new AbortController()
    const consumption = bus.consume({ name: topic, subjects: [`signal.${topic}`], signal })
    await consumption.established
    const iteration = readAll(consumption)
    await bus.close()
    await bus.close()
    expect(await iteration).toEqual([])
    const refusal = { code: 'bus_unavailable' }
    await expect(bus.publish({ id: topic, subject: `signal.${topic}`, body: 1 })).rejects.toMatchObject(
      refusal,
    )
    await expect(bus.request(topic, 1, { timeoutMs: 1_000 })).rejects.toMatchObject(refusal)
    expect(() => bus.consume({ name: topic, subjects: [`signal.${topic}`], signal })).toThrow('closed')
    expect(await bus.health()).toMatchObject({ ok: false })
  })
}
