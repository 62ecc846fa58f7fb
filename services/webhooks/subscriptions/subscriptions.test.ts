import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { codeOf } from '../../../contracts/errors/code-of.fixture.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { DeliveriesAttempted, type DeliveryResult } from '../../../contracts/events/delivery-events.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { deliveryStream } from '../../../contracts/events/streams.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { appendNext } from '../../../testing/append-next.ts'
import type { EventStore } from '../../log/event-store.ts'
import { verifyWebhook } from '../receiving/verify-webhook.fixture.ts'
import { createSign } from '../sending/sign.ts'
import { currentFilter } from './decide-subscription.ts'
import { createSubscriptionDirectory } from './subscription-directory.ts'
import type { Subscriptions } from './subscriptions.ts'
import { ADA, aRequest, aWorld, BOB, NOON, ORIGIN, URL, type World } from './testing/subscriptions.fixture.ts'

const UUID = '019abcde-7c00-7001-8000-0000000000e1'

let world: World
let subscriptions: Subscriptions
beforeEach(() => {
  world = aWorld()
  subscriptions = world.start().subscriptions
})
afterEach(() => world.closeAll())

const create = (change: Parameters<typeof aRequest>[0] = {}, by = subscriptions, accountId = ADA) =>
  by.create(accountId, aRequest(change), ORIGIN)
const createId = async (...given: Parameters<typeof create>): Promise<string> =>
  (await create(...given)).subscription.subscriptionId
const list = async (status: 'active' | 'disabled' | 'all' = 'all', by = subscriptions) =>
  (await by.list(ADA, { status, limit: 100 })).rows.map(({ subscription }) => subscription.subscriptionId)
describe('creating', () => {
  test('answers the subscription with a secret that signs, and keeps neither secret nor address readable', async () => {
    await world.recordCalls(3)
    const { subscription, url, secret, deliveries } = await create({ assets: ['top:5'] })
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(url).toBe(URL)
    expect(subscription).toMatchObject({ accountId: ADA, state: 'active' })
    expect(currentFilter(subscription).assets).toEqual(['top:5'])
    expect(deliveries.cursor).toEqual({ after: '3', sequence: 1 })
    for (const hidden of [secret, 's3cret', 'bot.example.com']) expect(world.text()).not.toContain(hidden)
  })

  test('may begin in the past', async () => {
    const [first] = await world.recordCalls(3)
    world.now += HOUR_MS
    await world.recordCalls(4)
    const started = async (start: string) => {
      const { subscription } = await create({ start })
      return subscription.startAfter
    }
    expect(await started('now')).toBe('7')
    expect(await started(first ?? '')).toBe(first)
    expect(await started(new Date(NOON + 1).toISOString())).toBe('3')
  })

  test('is refused for an address that nothing is sent to, before anything is recorded', async () => {
    expect(await codeOf(create({ url: 'http://10.0.0.1/' }))).toBe('url_refused')
    expect(await codeOf(create({ events: ['scan_digest'] }))).toBe('invalid_request')
    expect(await codeOf(create({ start: '99' }))).toBe('invalid_request')
    expect(world.text()).toBe('[]')
  })

  test('ends at the limit, however many processes create at once; deleting makes room', async () => {
    const other = world.start().subscriptions
    const outcomes = await Promise.all(
      Array.from({ length: 9 }, (_, n) => codeOf(create({}, n % 2 ? other : subscriptions))),
    )
    expect(outcomes.toSorted()).toEqual([
      ...Array.from({ length: 4 }, () => 'limit_reached'),
      ...Array.from({ length: 5 }, () => 'none'),
    ])
    const ids = await list()
    expect(ids).toHaveLength(5)
    await subscriptions.remove(ADA, ids[2] ?? '', ORIGIN)
    expect(await codeOf(create())).toBe('none')
    expect(await codeOf(create())).toBe('limit_reached')
  })

  test('that crashed behind its slot leaves room once that is old, and a slow one cannot come back', async () => {
    world.owners.limit = 1
    const release = Promise.withResolvers<void>()
    const store = world.store()
    const append: EventStore['append'] = async (stream, events, options) => {
      if (events[0]?.type === 'SubscriptionCreated') await release.promise
      return store.append(stream, events, options)
    }
    const slow = create({}, world.start({ store: { ...store, append } }).subscriptions)
    const slowCode = codeOf(slow)
    await expect.poll(async () => (await world.owners.slots(ADA)).current.length).toBe(1)
    expect(await codeOf(create())).toBe('limit_reached')
    world.now += LIMITS.subscriptionSlotIdleMs
    const id = await createId()
    release.resolve()
    expect(await slowCode).toBe('store_unavailable')
    expect(await list()).toEqual([id])
    expect((await world.owners.slots(ADA)).current).toHaveLength(1)
  })

  test('lost to an answer that did not come happens once', async () => {
    const store = world.store()
    let isFirst = true
    const append: EventStore['append'] = async (stream, events, options) => {
      const result = await store.append(stream, events, options)
      if (!isFirst) return result
      isFirst = false
      throw new ServiceError('append_unknown')
    }
    const shaky = world.start({ store: { ...store, append } }).subscriptions
    const id = await createId({}, shaky)
    expect(await list()).toEqual([id])
  })
})

test('a secret is rotated without an overlap, however many looks at the clock that takes', async () => {
  const id = await createId()
  let [noon, looks] = [world.now, 0]
  Object.defineProperty(world, 'now', {
    get: () => noon + looks++,
    set(time: number) {
      noon = time
    },
  })
  const { secret } = await subscriptions.rotateSecret(ADA, id, 0, ORIGIN)
  expect(secret).toMatch(/^whsec_/)
})

describe('others', () => {
  test('cannot see, change or delete what is not theirs: to them it does not exist', async () => {
    const id = await createId()
    const attempts = [
      subscriptions.show(BOB, id),
      subscriptions.find(BOB, id),
      subscriptions.change(BOB, id, {}, ORIGIN),
      subscriptions.pause(BOB, id, ORIGIN),
      subscriptions.resume(BOB, id, { from: 'now' }, ORIGIN),
      subscriptions.rotateSecret(BOB, id, 0, ORIGIN),
      subscriptions.test(BOB, id),
      subscriptions.recover(BOB, id, 0, ORIGIN),
      subscriptions.remove(BOB, id, ORIGIN),
    ]
    expect(await Promise.all(attempts.map(codeOf))).toEqual(attempts.map(() => 'not_found'))
    expect((await subscriptions.list(BOB, { status: 'all', limit: 10 })).rows).toEqual([])
    expect((await subscriptions.find(ADA, id)).revision).toBe(0)
  })
})

describe('the list', () => {
  test('shows the active ones, paused ones included, and counts those that wait for review', async () => {
    const [active, paused, disabled] = [await createId(), await createId(), await createId()]
    await subscriptions.pause(ADA, paused, ORIGIN)
    await subscriptions.stop(disabled, 'complaints', ORIGIN)
    expect((await list('active')).toSorted()).toEqual([active, paused].toSorted())
    expect(await list('disabled')).toEqual([disabled])
    const { needsReview, rows } = await subscriptions.list(ADA, { status: 'all', limit: 100 })
    expect([needsReview, rows.length]).toEqual([1, 3])
  })

  test('comes in pages that lose and repeat nothing, also where one is deleted in between', async () => {
    const ids: string[] = []
    for (let n = 0; n < 5; n++) {
      world.now += 1_000
      ids.push(await createId())
    }
    const seen: string[] = []
    let after: string | undefined
    do {
      const page = await subscriptions.list(ADA, { status: 'all', limit: 2, after })
      seen.push(...page.rows.map(({ subscription }) => subscription.subscriptionId))
      // The last one of the page is what the next begins behind.
      if (seen.length === 2) await subscriptions.remove(ADA, ids[1] ?? '', ORIGIN)
      after = page.next ?? undefined
    } while (after !== undefined)
    expect(seen).toEqual(ids)
  })
})

describe('changing', () => {
  test('two at once in two processes keeps both changes', async () => {
    const id = await createId()
    const other = world.start().subscriptions
    await Promise.all([
      subscriptions.change(ADA, id, { min_strength: 80 }, ORIGIN),
      other.change(ADA, id, { only_changes: true }, ORIGIN),
    ])
    expect(currentFilter(await subscriptions.find(ADA, id))).toMatchObject({
      minStrength: 80,
      onlyChanges: true,
    })
  })

  test('the address keeps secret and place, is checked as at the creation, and is as unreadable', async () => {
    const taken: string[] = []
    const takeUnasked = async (what: string, accountId: string, url: string): Promise<void> =>
      void taken.push(`${what} ${accountId} ${url}`)
    const room = world.start({ takeUnasked }).subscriptions
    const { subscription: before, secret } = await create()
    const id = before.subscriptionId
    const moved = await room.change(ADA, id, { url: 'https://new.example.com/s3cret2' }, ORIGIN)
    expect(moved.url).toBe('https://new.example.com/s3cret2')
    expect(moved.subscription).toMatchObject({
      secrets: before.secrets,
      filters: before.filters,
      startAfter: before.startAfter,
      state: 'active',
    })
    expect(taken).toEqual([`creation ${ADA} https://new.example.com/s3cret2`])
    for (const hidden of ['s3cret2', 'new.example.com']) expect(world.text()).not.toContain(hidden)
    const events = world.text()
    // The same again is no change, and sends nothing.
    await room.change(ADA, id, { url: 'https://new.example.com/s3cret2', max_per_second: null }, ORIGIN)
    expect([world.text(), taken.length]).toEqual([events, 1])
    expect(await codeOf(room.change(ADA, id, { url: 'http://10.0.0.1/' }, ORIGIN))).toBe('url_refused')
    expect(await codeOf(room.change(BOB, id, { url: 'https://bob.example.com/' }, ORIGIN))).toBe('not_found')
    expect(world.text()).toBe(events)
    await room.test(ADA, id)
    const { url, headers, body } = world.sent.at(-1) ?? { url: '', headers: {}, body: Buffer.alloc(0) }
    expect(url).toBe('https://new.example.com/s3cret2')
    const text = Buffer.from(body).toString()
    expect(verifyWebhook({ secret, headers, body: text, now: world.now })).toMatchObject({ ok: true })
  })

  test('address, rate and filter change together or not at all', async () => {
    const id = await createId()
    const change = { url: 'https://new.example.com/', max_per_second: 7, min_strength: 60 }
    const refused = () => subscriptions.change(ADA, id, { ...change, top_n: 3 }, ORIGIN)
    expect(await codeOf(refused())).toBe('invalid_request')
    expect(await subscriptions.find(ADA, id)).toMatchObject({
      state: 'active',
      sending: { perSecond: null },
    })
    const { subscription } = await subscriptions.change(ADA, id, change, ORIGIN)
    expect(subscription).toMatchObject({
      state: 'active',
      reason: null,
      sending: { perSecond: 7, inOrder: false },
    })
    expect(currentFilter(subscription).minStrength).toBe(60)
    const slower = await subscriptions.change(ADA, id, { max_per_second: 2 }, ORIGIN)
    expect(slower.subscription).toMatchObject({
      state: 'active',
      sending: { perSecond: 2, inOrder: false },
    })
    expect(slower.url).toBe('https://new.example.com/')
  })

  test('two addresses at once leave one, and an account that was erased meanwhile gets none', async () => {
    const id = await createId()
    const other = world.start().subscriptions
    const urls = ['https://a.example.com/', 'https://b.example.com/'] as const
    await Promise.all([
      subscriptions.change(ADA, id, { url: urls[0] }, ORIGIN),
      other.change(ADA, id, { url: urls[1] }, ORIGIN),
    ])
    expect(urls).toContain((await subscriptions.show(ADA, id)).url)
    const erasing = world.start({
      takeUnasked: async () => {
        world.owners.erase(ADA)
        world.owners.open(ADA)
      },
    }).subscriptions
    expect(await codeOf(erasing.change(ADA, id, { url: 'https://c.example.com/' }, ORIGIN))).toBe('not_found')
  })

  test('resuming goes back to where the subscription started, and no further', async () => {
    const [first] = await world.recordCalls(3)
    const { subscription } = await create()
    await world.recordCalls(2)
    const { subscriptionId, startAfter } = subscription
    const resumed = await subscriptions.resume(ADA, subscriptionId, { from: 'since', since: first }, ORIGIN)
    expect(resumed.deliveries.cursor.after).toBe(startAfter)
  })

  test('pausing is a state; resuming moves the cursor where that is asked for', async () => {
    const id = await createId()
    const [, second] = await world.recordCalls(3)
    expect((await subscriptions.pause(ADA, id, ORIGIN)).subscription.state).toBe('paused')
    const resumed = await subscriptions.resume(ADA, id, { from: 'since', since: second }, ORIGIN)
    expect(resumed.subscription).toMatchObject({ state: 'active', reason: null })
    expect(resumed.deliveries.cursor.after).toBe(second)
    const head = await world.store().head()
    const fromNow = await subscriptions.resume(ADA, id, { from: 'now' }, ORIGIN)
    expect(fromNow.deliveries.cursor.after).toBe(head)
    expect(await codeOf(subscriptions.resume(ADA, id, { from: 'since', since: '999' }, ORIGIN))).toBe(
      'invalid_request',
    )
  })
})

describe('deleting', () => {
  test('is unknown from then on', async () => {
    const id = await createId()
    await subscriptions.remove(ADA, id, ORIGIN)
    expect((await world.owners.slots(ADA)).current).toEqual([])
    expect(await codeOf(subscriptions.remove(ADA, id, ORIGIN))).toBe('not_found')
    expect(await codeOf(subscriptions.show(ADA, id))).toBe('not_found')
    expect(await list()).toEqual([])
  })

  test('that crashed before its slot was given back is finished by who looks next', async () => {
    const id = await createId()
    const owners = { ...world.owners, freeSlot: () => Promise.reject(new Error('killed')) }
    await expect(world.start({ owners }).subscriptions.remove(ADA, id, ORIGIN)).rejects.toThrow('killed')
    expect((await world.owners.slots(ADA)).current).toHaveLength(1)
    expect(await list()).toEqual([])
    expect((await world.owners.slots(ADA)).current).toEqual([])
  })
})

describe('an erased account', () => {
  test('loses its subscriptions, those a crash left behind too, and the next account of its id has none', async () => {
    const [first, second] = [await createId(), await createId()]
    await world.owners.takeSlot({ accountId: ADA, generation: 0 }, UUID, ORIGIN)
    world.owners.erase(ADA)
    await expect.poll(async () => (await world.owners.slots(ADA)).former).toEqual([])
    world.owners.open(ADA)
    expect(await list()).toEqual([])
    for (const id of [first, second]) expect(await codeOf(subscriptions.show(ADA, id))).toBe('not_found')
  })

  test('has nothing sent to it once its removal was waited for', async () => {
    const id = await createId()
    world.owners.erase(ADA)
    await subscriptions.removeErased(ADA)
    expect(await codeOf(subscriptions.showAny(id))).toBe('not_found')
    expect((await world.owners.slots(ADA)).former).toEqual([])
    await subscriptions.removeErased(ADA)
  })

  test('is waited for while the store is away', async () => {
    const id = await createId()
    await world.closeAll()
    let isAway = true
    const store = world.store()
    const append: EventStore['append'] = (...given) =>
      isAway ? Promise.reject(new ServiceError('store_unavailable')) : store.append(...given)
    const room = world.start({ store: { ...store, append } })
    world.owners.erase(ADA)
    await expect.poll(() => world.reports.join()).toContain('has to wait')
    isAway = false
    await expect.poll(async () => (await world.owners.slots(ADA)).former).toEqual([])
    expect(await codeOf(room.subscriptions.showAny(id))).toBe('not_found')
  })
})

describe('what is sent from here', () => {
  test('a sample is signed, says that it is one, and changes nothing', async () => {
    const { subscription, secret } = await create({ events: ['regime_shift', 'trade_call'] })
    world.answer = () => ({ status: 503, detail: 'no' })
    const sample = await subscriptions.test(ADA, subscription.subscriptionId)
    expect(sample).toMatchObject({
      isAccepted: false,
      event: 'regime_shift',
      outcome: { status: 503, detail: 'no' },
    })
    const [{ url, headers, body } = expect.fail()] = world.sent
    expect(url).toBe(URL)
    expect(verifyWebhook({ secret, headers, body, now: world.now })).toMatchObject({ ok: true })
    expect(JSON.parse(Buffer.from(body).toString())).toMatchObject({
      event: 'regime_shift',
      delivery_id: sample.deliveryId,
      test: true,
      data: { type: 'regime_shift', prior_regime: 'RANGING' },
    })
    expect((await subscriptions.show(ADA, subscription.subscriptionId)).deliveries.lastAttemptAt).toBeNull()
  })

  test('after a rotation both secrets sign, until the overlap ends', async () => {
    const { subscription, secret: old } = await create()
    const id = subscription.subscriptionId
    const { secret, overlapUntil } = await subscriptions.rotateSecret(ADA, id, HOUR_MS, ORIGIN)
    expect(overlapUntil).toBe(NOON + HOUR_MS)
    const signsNow = async () => {
      const { deliveryId } = await subscriptions.test(ADA, id)
      const { headers, body } = world.sent.at(-1) ?? expect.fail()
      expect(verifyWebhook({ secret, headers, body, now: world.now }).ok).toBe(true)
      const sign = createSign({ userAgent: 'test' })
      const about = { event: 'trade_call', deliveryId, body, at: world.now, attempt: 1 }
      const signatures = headers['webhook-signature']?.split(' ')
      return [secret, old].map((one) => signatures?.includes(sign([one], about)['webhook-signature'] ?? ''))
    }
    expect(await signsNow()).toEqual([true, true])
    world.now += HOUR_MS
    expect(await signsNow()).toEqual([true, false])
  })

  const TROUBLE = { state: 'failing', since: NOON, reason: 'answered 500' } as const

  test('its owner is mailed that it fails, by its host alone, with the same Message-ID each time', async () => {
    const failing = await createId({ url: 'https://failing.example.com/secret' })
    const about = await subscriptions.find(ADA, failing)
    await subscriptions.mail(about, TROUBLE)
    await subscriptions.mail(about, TROUBLE)
    const [first, again] = world.mails
    expect(first).toMatchObject({
      accountId: ADA,
      subject: 'Your webhook at failing.example.com is failing',
      id: expect.stringMatching(/^[0-9a-f]{32}@/),
    })
    expect(again).toEqual(first)
    expect(first?.text).not.toContain('secret')
  })

  test('a mail that is not taken is reported, and no fault', async () => {
    const failing = await createId()
    world.mailFault = new ServiceError('rate_limited')
    await subscriptions.mail(await subscriptions.find(ADA, failing), TROUBLE)
    expect([world.mails, world.reports.join()]).toEqual([[], expect.stringContaining('not mailed')])
  })
})

/** Attempts as the dispatcher records them, one a minute. */
async function recordAttempts(
  subscriptionId: string,
  count: number,
  result: DeliveryResult = 'delivered',
  hostWaitMs = 0,
): Promise<void> {
  for (let sequence = 1; sequence <= count; sequence++) {
    const at = NOON + sequence * 60_000
    world.now = at
    const attempt = {
      deliveryId: UUID,
      sequence,
      eventId: UUID,
      position: String(sequence),
      stream: 's',
      revision: 0,
      topN: null,
      attempt: 1,
      status: 200,
      reason: null,
      at,
      durationMs: 1,
      hostWaitMs,
      result,
      detail: null,
      nextAt: null,
      notBefore: null,
    }
    const cursor = { after: String(sequence), sequence: sequence + 1 }
    const about = { subscriptionId, token: 1, template: 1, baseUrl: 'https://s.example.com' }
    const data = { ...about, cursor, attempts: [attempt] }
    const event = newEvent(DeliveriesAttempted, { id: crypto.randomUUID(), data, meta: ORIGIN })
    await appendNext(world.store(), deliveryStream(subscriptionId), [event])
  }
}

test('its owner is told for a while that it waited for its turn at a host', async () => {
  const id = await createId()
  const warnings = async () => subscriptions.warnings(await subscriptions.show(ADA, id))
  await recordAttempts(id, 1)
  expect(await warnings()).toEqual([])
  await recordAttempts(id, 2, 'delivered', 7_000)
  expect(await warnings()).toEqual([
    expect.stringMatching(/600 deliveries a minute to bot\.example\.com.* the newest 7\.0 s/u),
  ])
  world.now += 11 * 60_000
  expect(await warnings()).toEqual([])
})

describe('what was given up', () => {
  test('is counted, from an instant on, and asked for where there is some', async () => {
    const id = await createId()
    await recordAttempts(id, 6, 'exhausted')
    const ask = (since: number) => subscriptions.recover(ADA, id, since, ORIGIN)
    expect(await ask(world.now + 1)).toBe(0)
    expect((await subscriptions.find(ADA, id)).recovery).toBeNull()
    expect(await ask(NOON + 5 * 60_000)).toBe(2)
    expect((await subscriptions.find(ADA, id)).recovery).toEqual({ revision: 1, since: NOON + 5 * 60_000 })
    expect(await codeOf(ask(0))).toBe('state_conflict')
    expect(await ask(world.now)).toBe(1)
    expect((await subscriptions.find(ADA, id)).revision).toBe(1)
  })
})

test('the operator sees all accounts’, with no more of their addresses than the host, and can stop one until it allows it', async () => {
  const room = world.start()
  const [ada, bob] = [await createId(), await createId({}, subscriptions, BOB)]
  await expect.poll(() => room.index.page({ limit: 10 }).length).toBe(2)
  const all = await room.subscriptions.listAll({ limit: 10 })
  expect(all.map(({ subscription }) => subscription.subscriptionId).toSorted()).toEqual([ada, bob].toSorted())
  expect(JSON.stringify(all)).not.toContain('s3cret')
  expect(all.map(({ origin, url }) => [origin, url])).toEqual(
    Array.from({ length: 2 }, () => ['https://bot.example.com', null]),
  )
  const { subscription } = await room.subscriptions.stop(bob, 'complaints', ORIGIN)
  expect(subscription).toMatchObject({ state: 'stopped', reason: 'complaints' })
  for (const refused of [
    subscriptions.resume(BOB, bob, { from: 'cursor' }, ORIGIN),
    subscriptions.pause(BOB, bob, ORIGIN),
    subscriptions.test(BOB, bob),
    subscriptions.recover(BOB, bob, 0, ORIGIN),
  ]) {
    expect(await codeOf(refused)).toBe('state_conflict')
  }
  expect(world.sent).toEqual([])
  const allowed = await room.subscriptions.allow(bob, 'cleared', ORIGIN)
  expect(allowed.subscription).toMatchObject({ state: 'paused', reason: 'cleared' })
  const resumed = await subscriptions.resume(BOB, bob, { from: 'cursor' }, ORIGIN)
  expect(resumed.subscription.state).toBe('active')
  const without = world.start({ index: undefined }).subscriptions
  expect(await codeOf(without.listAll({ limit: 10 }))).toBe('store_unavailable')
})

describe('the directory', () => {
  const open = (index = world.start().index) =>
    createSubscriptionDirectory({
      index,
      owners: world.owners,
      now: () => world.now,
      sleep: async () => undefined,
      signal: new AbortController().signal,
    })

  test('has all that are not removed, and the position up to which that is so', async () => {
    const [kept, gone] = [await createId(), await createId()]
    await subscriptions.remove(ADA, gone, ORIGIN)
    const room = world.start()
    await room.caughtUp()
    const { position, subscriptions: all } = await open(room.index).all()
    expect(position).toBe('3')
    expect([...all].map(({ subscriptionId }) => subscriptionId)).toEqual([kept])
  })

  test('opens address and secrets, anew after each change, and nothing once the account is erased', async () => {
    const directory = open()
    const { subscription, secret } = await create()
    expect(await directory.target(subscription)).toMatchObject({ url: URL, secrets: [secret] })
    // From memory, at once.
    expect(directory.target(subscription)).toMatchObject({ url: URL, secrets: [secret] })
    const id = subscription.subscriptionId
    const next = await subscriptions.rotateSecret(ADA, id, HOUR_MS, ORIGIN)
    const rotated = await subscriptions.find(ADA, id)
    expect(await directory.target(rotated)).toMatchObject({ url: URL, secrets: [next.secret, secret] })
    world.owners.erase(ADA)
    world.now += LIMITS.webhookTargetMs
    expect(await directory.target(rotated)).toBeUndefined()
  })
})
