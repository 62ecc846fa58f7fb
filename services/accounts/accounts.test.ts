import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS } from '../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { EventStore } from '../log/event-store.ts'
import type { Accounts } from './accounts.ts'
import { createApiKey } from './credentials.ts'
import { aWorld, CLIENT, codeOf, NOON, ORIGIN, type World } from './testing/accounts.fixture.ts'

const EMAIL = 'ada@example.com'
const bearer = (key: string): string => `Bearer ${key}`

let world: World
let accounts: Accounts
beforeEach(async () => {
  world = aWorld()
  accounts = (await world.start()).accounts
})
afterEach(() => world.closeAll())

const confirm = (code: string, email = EMAIL, change: object = {}) =>
  accounts.confirmSignIn({ email, code, label: 'bot', ...change }, ORIGIN)

const outcomeOf = async (key: string, of = accounts): Promise<string> =>
  (await of.identify(bearer(key))).outcome

/** A store whose followers hear of each event some milliseconds later. */
const lagging = (store: EventStore, ms: number): EventStore => ({
  ...store,
  async *subscribe(options) {
    for await (const item of store.subscribe(options)) {
      await new Promise((resolve) => setTimeout(resolve, ms))
      yield item
    }
  },
})

describe('a key', () => {
  test('works from the answer of its issue and not after that of its revocation', async () => {
    const { accountId, key: own } = await world.signIn(accounts, EMAIL)
    for (let round = 0; round < 20; round++) {
      const { key, keyId } = await accounts.issueKey(accountId, `round ${round}`, ORIGIN)
      expect(await outcomeOf(key)).toBe('OK')
      await accounts.revokeKey(accountId, keyId, ORIGIN)
      expect(await outcomeOf(key)).toBe('UNKNOWN')
    }
    expect(await outcomeOf(own)).toBe('OK')
  })

  test('works at every process from the answer of its issue, also where the read model lags', async () => {
    const { accountId } = await world.signIn(accounts, EMAIL)
    const other = await world.start({ store: lagging(world.store(), 3) })
    for (let round = 0; round < 20; round++) {
      const { key, keyId } = await accounts.issueKey(accountId, '', ORIGIN)
      expect(await outcomeOf(key, other.accounts)).toBe('OK')
      await accounts.revokeKey(accountId, keyId, ORIGIN)
    }
  })

  test('that nobody issued costs one look at the end of the log, and none when it comes again', async () => {
    let heads = 0
    const store = world.store()
    const counting: EventStore = {
      ...store,
      head: () => {
        heads += 1
        return store.head()
      },
    }
    const other = (await world.start({ store: counting })).accounts
    heads = 0
    const keys = Array.from({ length: 200 }, () => createApiKey(randomBytes))
    for (let round = 0; round < 2; round++)
      expect(new Set(await Promise.all(keys.map((key) => outcomeOf(key, other))))).toEqual(
        new Set(['UNKNOWN']),
      )
    expect(heads).toBe(keys.length)
  })

  test('of another process is never unknown, however far the read model is behind', async () => {
    const { accountId } = await world.signIn(accounts, EMAIL)
    const other = await world.start({ store: lagging(world.store(), 400) })
    const { key } = await accounts.issueKey(accountId, '', ORIGIN)
    expect(await outcomeOf(key, other.accounts)).not.toBe('UNKNOWN')
  })

  test('is seen by another process in a moment, however often it was asked there', async () => {
    const { accountId, key } = await world.signIn(accounts, EMAIL)
    const other = (await world.start()).accounts
    const { key: second, keyId } = await accounts.issueKey(accountId, '', ORIGIN)
    await accounts.revokeKey(accountId, keyId, ORIGIN)
    await expect.poll(() => outcomeOf(second, other)).toBe('UNKNOWN')
    expect(await outcomeOf(key, other)).toBe('OK')
  })

  test('is issued up to the limit, also when twenty are asked for at a time', async () => {
    const { accountId } = await world.signIn(accounts, EMAIL)
    const other = (await world.start()).accounts
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        codeOf((n % 2 === 0 ? accounts : other).issueKey(accountId, '', ORIGIN)),
      ),
    )
    expect(outcomes.filter((code) => code === 'none')).toHaveLength(LIMITS.keysPerAccount - 1)
    expect(new Set(outcomes)).toEqual(new Set(['none', 'limit_reached']))
    expect((await accounts.show(accountId)).keys).toHaveLength(LIMITS.keysPerAccount)
  })

  test('of another account is not there to be revoked', async () => {
    const [ada, bob] = [await world.signIn(accounts, EMAIL), await world.signIn(accounts, 'bob@example.com')]
    expect(await codeOf(accounts.revokeKey(ada.accountId, bob.keyId, ORIGIN))).toBe('not_found')
    expect(await outcomeOf(bob.key)).toBe('OK')
  })

  test('that is well-formed and was never issued is unknown; what is none is malformed or absent', async () => {
    const elsewhere = await aWorld().start()
    const { key } = await elsewhere.accounts.createKey({}, { label: '' }, ORIGIN)
    expect(await accounts.identify(bearer(key))).toEqual({ outcome: 'UNKNOWN' })
    expect(await accounts.identify('Bearer sk_live_nonsense')).toEqual({ outcome: 'UNKNOWN' })
    expect(await accounts.identify('Bearer nonsense')).toEqual({ outcome: 'MALFORMED' })
    expect(await accounts.identify(key)).toEqual({ outcome: 'MALFORMED' })
    expect(await accounts.identify(undefined)).toEqual({ outcome: 'ABSENT' })
    await elsewhere.close()
  })

  test('lost to an answer that did not come is issued once, and told', async () => {
    const { accountId } = await world.signIn(accounts, EMAIL)
    const { accounts: shaky } = await world.start({ store: losingFirstAnswers(world.store()) })
    const { key } = await shaky.issueKey(accountId, 'shaky', ORIGIN)
    expect(await outcomeOf(key, shaky)).toBe('OK')
    expect((await accounts.show(accountId)).keys.filter(({ label }) => label === 'shaky')).toHaveLength(1)
  })
})

describe('what cannot be told', () => {
  test('is INDETERMINATE without read models, while they do not follow, and while they are behind', async () => {
    const { key } = await world.signIn(accounts, EMAIL)
    const without = await world.start({ index: undefined })
    expect(await without.accounts.identify(bearer(key))).toMatchObject({ outcome: 'INDETERMINATE' })

    const lost = { position: () => undefined, keyOf: shouldNotBeAsked, account: shouldNotBeAsked }
    const index = {
      ...lost,
      keyById: shouldNotBeAsked,
      appOf: shouldNotBeAsked,
      isFull: () => false,
      accountPages: () => [],
      erasedPages: () => [],
    }
    const stopped = await world.start({ index })
    expect(await stopped.accounts.identify(bearer(key))).toMatchObject({
      outcome: 'INDETERMINATE',
      reason: expect.stringContaining('does not follow the log'),
    })

    // A caller hears of the full disk, and not of a key that could not be checked.
    const full = await world.start({ index: { ...index, isFull: () => true } })
    expect(await full.accounts.identify(bearer(key))).toMatchObject({
      outcome: 'INDETERMINATE',
      cause: { code: 'store_full' },
    })

    const failing = await world.start({
      index: {
        ...index,
        position: () => {
          throw new Error('disk I/O error')
        },
      },
    })
    expect(await failing.accounts.identify(bearer(key))).toEqual({
      outcome: 'INDETERMINATE',
      reason: 'the log does not answer at the moment',
      cause: new Error('disk I/O error'),
    })

    let now = NOON
    const behind = await world.start({ index: { ...index, position: () => '1' }, now: () => (now += 100) })
    const { accountId } = await world.signIn(behind.accounts, 'bob@example.com')
    expect(accountId).toMatch(/-8/)
    expect(await behind.accounts.identify(bearer(key))).toMatchObject({
      outcome: 'INDETERMINATE',
      reason: expect.stringMatching(/is at 1, and the log has gone on/),
    })
  })
})

const shouldNotBeAsked = (): never => {
  throw new Error('this was not to be asked')
}

describe('a plan', () => {
  test('applies from its answer to its last instant, and its window is its period', async () => {
    const { accountId, key } = await world.signIn(accounts, EMAIL)
    expect(await accounts.identify(bearer(key))).toMatchObject({ tier: 'free' })
    await accounts.startPlan(accountId, { tier: 'starter', source: 'operator' }, ORIGIN)
    const from = NOON
    const to = NOON + 30 * DAY_MS
    const starter = { tier: 'starter', window: { id: 'plan-20261121T120000Z', from, to } }
    expect(await accounts.identify(bearer(key))).toMatchObject(starter)
    world.now = to - 1
    expect(await accounts.identify(bearer(key))).toMatchObject(starter)
    world.now = to
    expect(await accounts.identify(bearer(key))).toMatchObject({ tier: 'free', window: { id: '2026-12' } })
  })

  test('that begins behind another takes over in the very instant, also from memory', async () => {
    const { accountId, key } = await world.signIn(accounts, EMAIL)
    for (let n = 0; n < 2; n++)
      await accounts.startPlan(accountId, { tier: 'pro', source: 'payment' }, ORIGIN)
    world.now = NOON + 30 * DAY_MS - 1
    expect(await accounts.identify(bearer(key))).toMatchObject({ window: { from: NOON } })
    world.now += 1
    expect(await accounts.identify(bearer(key))).toMatchObject({ tier: 'pro', window: { from: world.now } })
  })
})

test('a bought plan begins once for its payment, also where there is room for no other', async () => {
  const { accountId, key } = await world.signIn(accounts, EMAIL)
  const bought = {
    claimedAtMs: NOON,
    tier: 'starter',
    paymentId: '018f0000-0000-7000-8000-000000000001',
  } as const
  const plan = await accounts.buyPlan(accountId, bought, ORIGIN)
  expect(plan).toMatchObject({ tier: 'starter', from: NOON, to: NOON + 30 * DAY_MS })
  expect(await accounts.buyPlan(accountId, bought, ORIGIN)).toEqual(plan)
  expect(await accounts.identify(bearer(key))).toMatchObject({ tier: 'starter' })
  const full = async (): Promise<void> => {
    for (let n = 0; n < LIMITS.plansAhead; n++)
      await accounts.startPlan(accountId, { tier: 'starter', source: 'operator' }, ORIGIN)
  }
  expect(await codeOf(full())).toBe('invalid_request')
  expect(await codeOf(accounts.requirePlanRoom(accountId, 'starter'))).toBe('invalid_request')
  await accounts.requirePlanRoom(accountId, 'pro')
  const late = { ...bought, paymentId: '018f0000-0000-7000-8000-000000000002' }
  expect((await accounts.buyPlan(accountId, late, ORIGIN)).from).toBe(NOON + LIMITS.plansAhead * 30 * DAY_MS)
})

test('a key keeps its label, and who has too many is told what they are called', async () => {
  const { accountId } = await world.signIn(accounts, EMAIL)
  for (let n = 1; n < LIMITS.keysPerAccount; n++) await accounts.issueKey(accountId, `bot ${n}`, ORIGIN)
  const labels = ['sign-in', ...Array.from({ length: LIMITS.keysPerAccount - 1 }, (_, n) => `bot ${n + 1}`)]
  expect((await accounts.show(accountId)).keys.map(({ label }) => label)).toEqual(labels)
  await accounts.requestSignIn({ email: EMAIL, client: CLIENT }, ORIGIN)
  for (const oneMore of [
    () => accounts.issueKey(accountId, 'one more', ORIGIN),
    () => accounts.createKey({ accountId }, { label: 'one more' }, ORIGIN),
    () => confirm(world.codeFor(EMAIL)),
  ]) {
    const keys = labels.map((label) => expect.objectContaining({ label }))
    await expect(oneMore()).rejects.toMatchObject({ code: 'limit_reached', details: { keys } })
  }
})

test('neither keys, their labels, codes nor addresses are in the log or in what the operator is told', async () => {
  const secrets: string[] = [EMAIL, 'bob@example.com', Buffer.from(EMAIL).toString('base64url').slice(0, 16)]
  const { key, accountId } = await world.signIn(accounts, EMAIL)
  secrets.push(key, key.slice(14), world.codeFor(EMAIL))
  secrets.push((await accounts.issueKey(accountId, 'for Adas boat', ORIGIN)).key, 'for Adas boat', 'Bobs bot')
  secrets.push((await accounts.createKey({}, { label: 'Bobs bot' }, ORIGIN)).key)
  secrets.push((await accounts.createKey({ email: 'bob@example.com' }, { label: '' }, ORIGIN)).key)
  await accounts.requestSignIn({ email: 'bob@example.com', client: CLIENT }, ORIGIN)
  secrets.push(world.codeFor('bob@example.com'))
  await codeOf(confirm('00000-00000', 'bob@example.com'))
  await accounts.erase(accountId, ORIGIN)
  const text = world.text() + world.reports.join('\n')
  expect(text.length).toBeGreaterThan(1_000)
  // Six digits may be part of a hash by chance; as a word of its own a code is nowhere.
  for (const secret of secrets) expect(text).not.toMatch(new RegExp(`(?<![0-9a-f])${secret}(?![0-9a-f])`))
})

/** A store whose every first try of an append happens, and says that it may not have. */
function losingFirstAnswers(store: EventStore): EventStore {
  const seen = new Set<string>()
  return {
    ...store,
    async append(stream, events, options) {
      const result = await store.append(stream, events, options)
      const id = events[0]?.id ?? ''
      if (seen.has(id)) return result
      seen.add(id)
      throw new ServiceError('append_unknown', { message: 'the answer was lost' })
    },
  }
}

describe('erasing', () => {
  test('revokes the keys, forgets the address, and is seen by all', async () => {
    const { accountId, key } = await world.signIn(accounts, EMAIL)
    const other = (await world.start()).accounts
    expect(await outcomeOf(key, other)).toBe('OK')
    await accounts.erase(accountId, ORIGIN)
    expect(await outcomeOf(key)).toBe('UNKNOWN')
    await expect.poll(() => outcomeOf(key, other)).toBe('UNKNOWN')
    expect(await codeOf(accounts.show(accountId))).toBe('account_unknown')
    expect(await codeOf(accounts.erase(accountId, ORIGIN))).toBe('account_unknown')
    expect(world.text()).not.toContain('wrappedKey')
  })

  test('leaves the address free to sign in again: the same id, nothing of the old account', async () => {
    const first = await world.signIn(accounts, EMAIL)
    await accounts.startPlan(first.accountId, { tier: 'pro', source: 'operator' }, ORIGIN)
    await accounts.erase(first.accountId, ORIGIN)
    const second = await world.signIn(accounts, EMAIL)
    expect(second).toMatchObject({ accountId: first.accountId, tier: 'free' })
    expect(await accounts.show(second.accountId)).toMatchObject({
      email: EMAIL,
      keys: [{ keyId: second.keyId }],
    })
    expect(await outcomeOf(first.key)).toBe('UNKNOWN')
  })

  test('that fails at its first step is told, and nothing of the account is changed', async () => {
    const { accountId, key } = await world.signIn(accounts, EMAIL)
    const away = () => Promise.reject(new ServiceError('store_unavailable'))
    const shaky = await world.start({ store: { ...world.store(), erase: away } })
    await expect(shaky.accounts.erase(accountId, ORIGIN)).rejects.toMatchObject({
      code: 'outcome_unknown',
      message: expect.stringContaining('Send the same request again'),
    })
    expect(await outcomeOf(key)).toBe('OK')
    await accounts.erase(accountId, ORIGIN)
    expect(world.text()).not.toContain('wrappedKey')
  })

  test('that fails at its second step has erased what was personal, and is finished by the same request', async () => {
    const { accountId, key } = await world.signIn(accounts, EMAIL)
    let isAway = true
    const store = world.store()
    const append: EventStore['append'] = (stream, events, options) =>
      isAway && events.some(({ type }) => type === 'AccountErased')
        ? Promise.reject(new ServiceError('store_unavailable'))
        : store.append(stream, events, options)
    const shaky = await world.start({ store: { ...store, append } })
    expect(await codeOf(shaky.accounts.erase(accountId, ORIGIN))).toBe('outcome_unknown')
    expect(world.text()).not.toContain('wrappedKey')
    isAway = false
    await shaky.accounts.erase(accountId, ORIGIN)
    expect(await codeOf(shaky.accounts.erase(accountId, ORIGIN))).toBe('account_unknown')
    await expect.poll(() => outcomeOf(key)).toBe('UNKNOWN')
  })
})

describe('the operator', () => {
  test('opens accounts with and without an address, with a plan and a key in one', async () => {
    const { key, accountId, tier } = await accounts.createKey({}, { label: 'mine', tier: 'pro' }, ORIGIN)
    expect(tier).toBe('pro')
    expect(await accounts.identify(bearer(key))).toMatchObject({ outcome: 'OK', accountId, tier: 'pro' })
    expect(await accounts.show(accountId)).toMatchObject({ email: null, keys: [{ label: 'mine' }] })

    const ada = await accounts.createKey({ email: EMAIL }, { label: '' }, ORIGIN)
    expect((await world.signIn(accounts, EMAIL)).accountId).toBe(ada.accountId)
    expect((await accounts.show(ada.accountId)).email).toBe(EMAIL)
    const more = await accounts.createKey({ accountId: ada.accountId }, { label: '' }, ORIGIN)
    expect(more.accountId).toBe(ada.accountId)
    expect(await accounts.accountOfKey(more.keyId)).toBe(ada.accountId)
    expect(await accounts.list({ limit: 100 })).toEqual([accountId, ada.accountId].toSorted())

    const unknown = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
    expect(await codeOf(accounts.createKey({ accountId: unknown }, { label: '' }, ORIGIN))).toBe(
      'account_unknown',
    )
    expect(await codeOf(accounts.accountOfKey(unknown))).toBe('not_found')
    await accounts.erase(accountId, ORIGIN)
    expect(await accounts.list({ limit: 100 })).toEqual([ada.accountId])
  })

  test('lists accounts page by page, however many were erased between them', async () => {
    const ids: string[] = []
    for (let n = 0; n < 230; n++) ids.push((await accounts.createKey({}, { label: '' }, ORIGIN)).accountId)
    ids.sort()
    const erased = new Set(ids.slice(20, 210))
    for (const id of erased) await accounts.erase(id, ORIGIN)
    const listed: string[] = []
    for (let after: string | undefined; ; ) {
      const page = await accounts.list({ after, limit: 7 })
      listed.push(...page)
      after = page.at(-1)
      if (page.length < 7) break
    }
    expect(listed).toEqual(ids.filter((id) => !erased.has(id)))
  })

  test('gets no account by halves: with too many keys there is no plan either', async () => {
    const { accountId } = await accounts.createKey({}, { label: '' }, ORIGIN)
    for (let n = 1; n < LIMITS.keysPerAccount; n++) await accounts.issueKey(accountId, '', ORIGIN)
    expect(await codeOf(accounts.createKey({ accountId }, { label: '', tier: 'pro' }, ORIGIN))).toBe(
      'limit_reached',
    )
    expect((await accounts.show(accountId)).tier).toBe('free')
  })
})
