import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterEach, expect, test } from 'vitest'
import { BASE } from '../../../contracts/domain/chain.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { Lease, Leases } from '../../log/leases/leases.ts'
import type { Chain } from '../chain/chain.ts'
import { QUICK, type SettlementWorld, settlementWorld } from '../testing/chain/settlement-world.ts'
import type { Facilitator } from './facilitator.ts'

const HASH = `0x${'ab'.repeat(32)}` as const
const worlds: SettlementWorld[] = []
afterEach(async () => {
  await Promise.all(worlds.splice(0).map((world) => world.stop()))
})
function aWorld(): SettlementWorld {
  const world = settlementWorld({})
  worlds.push(world)
  return world
}
const aPayer = () => privateKeyToAccount(generatePrivateKey())

const unasked = (): Promise<never> => Promise.reject(new Error('not asked here'))
const UNASKED: Chain = {
  payerStatus: unasked,
  outcomeOf: unasked,
  blockTime: unasked,
  blockHash: unasked,
  finalBlock: unasked,
  chainId: async () => BASE.id,
}

/** A facilitator in this process, which counts. */
function counting(): Facilitator & { readonly asked: string[] } {
  const asked: string[] = []
  return {
    asked,
    settle: async ({ nonce }) => {
      asked.push(nonce)
      return { kind: 'settled', transaction: HASH }
    },
    verify: async () => ({ kind: 'valid' }),
    findTransfer: async () => undefined,
    problem: async () => undefined,
  }
}

/** The chain that it settles on: a payment is paid once it was asked for, and final at once. */
const chainBehind = ({ asked }: { readonly asked: readonly string[] }, now: () => number): Chain => ({
  ...UNASKED,
  blockTime: async () => Math.floor(now() / 1_000),
  outcomeOf: async ({ nonce }) =>
    asked.includes(nonce)
      ? { kind: 'paid', transaction: HASH, blockNumber: 1, blockHash: HASH }
      : { kind: 'unused' },
  finalBlock: async () => 1,
  blockHash: async () => HASH,
})
function settling(now = Date.now) {
  const facilitator = counting()
  return { facilitator, chain: chainBehind(facilitator, now) }
}

test('settles what was claimed before it started and after, and each once', async () => {
  const world = aWorld()
  const { facilitator, chain } = settling()
  const terms = () => ({ payer: aPayer(), value: 20_000n })
  const before = await Promise.all([world.claim(terms()), world.claim(terms())])
  await world.start({ facilitator, chain })
  const after = await world.claim(terms())
  await Promise.all([...before, after].map((stream) => world.until(stream, 'final')))
  expect(new Set(facilitator.asked).size).toBe(3)
  expect(facilitator.asked).toHaveLength(3)
})

test('with nobody to settle, payments are kept, and health says so', async () => {
  const world = aWorld()
  const stream = await world.claim({ payer: aPayer(), value: 20_000n })
  const settler = await world.start()
  while (settler.health().open === 0) await world.pause()
  expect(settler.health()).toMatchObject({ open: 1, detail: 'nobody settles payments on the chain' })
  expect(settler.health().oldestOpenMs).toBeGreaterThanOrEqual(0)
  expect(await world.history(stream)).toHaveLength(1)
})

test('a payment that could be settled and has waited for a minute is told by whoever could settle, and since when', async () => {
  let now = Date.UTC(2026, 10, 21, 12)
  const world = settlementWorld({ now: () => now })
  worlds.push(world)
  const isHeldElsewhere: Leases = {
    held: () => [],
    run: (_, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
  }
  const settler = await world.start({ ...settling(() => now), leases: isHeldElsewhere })
  expect(settler.health()).toMatchObject({ ok: true, payableSince: undefined })
  const stream = await world.claim({ payer: aPayer(), value: 20_000n })
  while (settler.health().payableSince === undefined) await world.pause()
  now += 59_999
  expect(settler.health()).toMatchObject({ ok: true, payableSince: Date.UTC(2026, 10, 21, 12) })
  now += 1
  expect(settler.health().ok).toBe(false)
  expect(settler.health().detail).toContain('has waited since 2026-11-21T12:00:00.000Z')
  const other = await world.start(settling(() => now))
  await world.until(stream, 'final')
  while (!settler.health().ok) await world.pause()
  expect(other.health().payableSince).toBeUndefined()
})

test('a clock that is set back by ten minutes puts off no look at a payment whose block is not final', async () => {
  let now = Date.now()
  const looks: number[] = []
  const world = settlementWorld({ now: () => now })
  worlds.push(world)
  const chain: Chain = {
    ...UNASKED,
    chainId: async () => BASE.id,
    blockTime: async () => Math.floor(now / 1_000),
    outcomeOf: async () => ({ kind: 'paid', transaction: HASH, blockNumber: 1, blockHash: HASH }),
    finalBlock: async () => looks.push(now) - 1,
    blockHash: async () => HASH,
  }
  const stream = await world.claim({ payer: aPayer(), value: 20_000n })
  await world.start({ facilitator: counting(), chain, timing: { ...QUICK, retryMs: 200, retryMaxMs: 200 } })
  while (looks.length === 0) await world.pause()
  now -= 600_000
  expect(await world.until(stream, 'final')).toMatchObject({ state: 'final' })
})

test('what troubled it while it settled is over when another process settles', async () => {
  const world = aWorld()
  const taken = new AbortController()
  const heldUntilTaken: Leases = {
    held: () => [],
    async run({ gained, lost }, signal) {
      await gained({ shard: 0, token: 1 })
      await new Promise((resolve) => taken.signal.addEventListener('abort', resolve))
      await lost({ shard: 0, token: 1 })
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    },
  }
  const { facilitator, chain } = settling()
  const silent = { ...facilitator, problem: async () => 'no answer' }
  const settler = await world.start({ facilitator: silent, chain, leases: heldUntilTaken })
  while (settler.health().ok) await world.pause()
  expect(settler.health().detail).toContain('facilitator at /supported: no answer')
  taken.abort()
  while (!settler.health().ok) await world.pause()
  expect(settler.health().detail).toBe('not settling in this process at the moment')
})

test('a facilitator with ever other words does not fill the log', async () => {
  let now = Date.now()
  const world = settlementWorld({ now: () => now })
  worlds.push(world)
  const answers: string[] = []
  const chatty: Facilitator = {
    ...counting(),
    async settle() {
      now += 1_000
      const reason = `request ${answers.length} came to nothing`
      answers.push(reason)
      return answers.length % 2 === 0
        ? { kind: 'refused', why: 'refused', reason }
        : { kind: 'unknown', reason }
    },
  }
  const stream = await world.claim({ payer: aPayer(), value: 20_000n })
  const chain: Chain = {
    ...UNASKED,
    blockTime: async () => Math.floor(now / 1_000),
    outcomeOf: async () => ({ kind: 'unused' }),
  }
  await world.start({ facilitator: chatty, chain, elapsed: () => now })
  const goOn = async (): Promise<void> => {
    now += 20
    await world.pause()
  }
  while (answers.length < 60) await goOn()
  expect((await world.history(stream)).length).toBeLessThan(40)
  now += 1_000_000
  while ((await world.payment(stream)).state !== 'uncollectable') await goOn()
  expect(await world.payment(stream)).toMatchObject({ reason: 'expired' })
})

test('a facilitator that cannot be used starts all the same, and health says why', async () => {
  const world = aWorld()
  const { facilitator, chain } = settling()
  const settler = await world.start({
    chain,
    facilitator: { ...facilitator, problem: async () => 'it refuses our credential' },
  })
  while (settler.health().ok) await world.pause()
  expect(settler.health().detail).toBe('facilitator at /supported: it refuses our credential')
})

test('settles only while it holds the lease, and goes on from the log when it gets it back', async () => {
  const world = aWorld()
  const { facilitator, chain } = settling()
  type Work = Parameters<Leases['run']>[0]
  const taken = Promise.withResolvers<Work>()
  const leases: Leases = {
    held: () => [],
    async run(work, signal) {
      taken.resolve(work)
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    },
  }
  const lease: Lease = { shard: 0, token: 1 }
  const first = await world.claim({ payer: aPayer(), value: 20_000n })
  const settler = await world.start({ facilitator, chain, leases })
  const work = await taken.promise
  expect(settler.health().detail).toBe('not settling in this process at the moment')
  await work.gained(lease)
  await world.until(first, 'final')
  await work.lost(lease)
  const second = await world.claim({ payer: aPayer(), value: 20_000n })
  expect(settler.health()).toMatchObject({ open: 0, detail: 'not settling in this process at the moment' })
  expect(facilitator.asked).toHaveLength(1)
  await work.gained({ shard: 0, token: 2 })
  await world.until(second, 'final')
  expect(facilitator.asked).toHaveLength(2)
})

test('an append without an answer is repeated with the same events, and happens once', async () => {
  const world = aWorld()
  const { facilitator, chain } = settling()
  let failures = 0
  const ids: string[][] = []
  const store: typeof world.store = {
    ...world.store,
    async append(stream, events, options) {
      ids.push(events.map(({ id }) => id))
      const result = await world.store.append(stream, events, options)
      if (failures++ % 2 === 0) throw new ServiceError('append_unknown')
      return result
    },
  }
  const stream = await world.claim({ payer: aPayer(), value: 20_000n })
  await world.start({ facilitator, chain, store })
  await world.until(stream, 'final')
  expect((await world.history(stream)).map(({ type }) => type)).toEqual([
    'PaymentClaimed',
    'SettlementRequested',
    'SettlementBroadcast',
    'SettlementConfirmed',
    'SettlementFinalised',
  ])
  expect(ids[0]).toEqual(ids[1])
})
