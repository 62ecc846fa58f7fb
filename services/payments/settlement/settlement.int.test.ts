import { randomUUID } from 'node:crypto'
import type { Hex, PrivateKeyAccount } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { expectBalances } from '../testing/chain/expect-balances.ts'
import { PAY_TO, type SettlementWorld, settlementWorld } from '../testing/chain/settlement-world.ts'
import {
  cancelCall,
  randomNonce,
  signAuthorization,
  transferCall,
} from '../testing/chain/sign-authorization.ts'
import { missingChain, startTestChain, type TestChain } from '../testing/chain/test-chain.ts'

describe.skipIf(missingChain !== undefined)(`settling on a chain ${missingChain ?? ''}`, () => {
  let chain: TestChain
  let world: SettlementWorld
  let gasKey: Hex
  let before: bigint
  const funded = new Map<string, bigint>()

  const aPayer = async (usdc: bigint): Promise<PrivateKeyAccount> => {
    const payer = await chain.payer(usdc)
    funded.set(payer.address.toLowerCase(), usdc)
    return payer
  }
  const typesOf = async (stream: string): Promise<string[]> =>
    (await world.history(stream)).map(({ type }) => type)

  beforeAll(async () => {
    chain = await startTestChain()
    gasKey = await chain.gasWallet()
  })
  afterAll(() => chain?.stop())
  beforeEach(async () => {
    funded.clear()
    before = await chain.balanceOf(PAY_TO)
    world = settlementWorld({ chain, gasKey })
  })
  afterEach(async () => {
    await world.stop()
    await expectBalances(world.store, chain, { payTo: PAY_TO, before, funded })
  })

  test('a single claim becomes a transfer of its own, confirmed by its block and final two blocks later', async () => {
    const stream = await world.claim({ payer: await aPayer(50_000n), value: 20_000n })
    const settler = await world.start()
    const { transaction, blockHash } = await world.until(stream, 'confirmed')
    expect((await chain.node.getTransaction({ hash: transaction as Hex })).blockHash).toBe(blockHash)
    await chain.mine(2)
    await world.until(stream, 'final')
    expect(await typesOf(stream)).toEqual([
      'PaymentClaimed',
      'SettlementRequested',
      'SettlementBroadcast',
      'SettlementConfirmed',
      'SettlementFinalised',
    ])
    expect(settler.health()).toMatchObject({ ok: true, detail: 'settling', open: 0, unknown: 0 })
  })

  test('two claims on one balance: one is paid, the other is tried until the payer has money again', async () => {
    const payer = await aPayer(30_000n)
    const streams = [
      await world.claim({ payer, value: 20_000n }),
      await world.claim({ payer, value: 20_000n }),
    ]
    await world.start()
    await Promise.race(streams.map((stream) => world.until(stream, 'confirmed')))
    await chain.mint(payer.address, 10_000n)
    funded.set(payer.address.toLowerCase(), 40_000n)
    const paid = await Promise.all(streams.map((stream) => world.until(stream, 'confirmed')))
    expect(new Set(paid.map(({ transaction }) => transaction)).size).toBe(2)
  })

  test('who cancels after being served owes, and is found out', async () => {
    const payer = await aPayer(50_000n)
    const nonce = randomNonce()
    const stream = await world.claim({ payer, value: 20_000n, nonce })
    await chain.send(await cancelCall(payer, nonce))
    await world.start()
    expect((await world.until(stream, 'uncollectable')).reason).toBe('cancelled')
  })

  test('a nonce that was used to pay somebody else, or less, is gone', async () => {
    const payer = await aPayer(50_000n)
    const nonce = randomNonce()
    const validBefore = BigInt(Math.floor(chain.now() / 1_000) + 300)
    const stream = await world.claim({ payer, value: 20_000n, nonce })
    const less = await signAuthorization(payer, { payTo: payer.address, value: 20_000n, validBefore, nonce })
    await chain.send(transferCall(less))
    await world.start()
    expect((await world.until(stream, 'uncollectable')).reason).toBe('cancelled')
  })

  test('an authorization that somebody else sends pays us all the same', async () => {
    const payer = await aPayer(50_000n)
    const nonce = randomNonce()
    const validBefore = BigInt(Math.floor(chain.now() / 1_000) + 300)
    const terms = { payer, value: 20_000n, nonce, validBefore }
    const stream = await world.claim(terms)
    const { hash } = await chain.send(
      transferCall(await signAuthorization(payer, { ...terms, payTo: PAY_TO })),
    )
    await world.start()
    expect(await world.until(stream, 'confirmed')).toMatchObject({ transaction: hash })
    expect((await world.untilEvent('SettlementConfirmed')).data).toMatchObject({ by: 'other' })
  })

  test('one that nobody could settle in time is told as expired', async () => {
    const stream = await world.claim({ payer: await aPayer(50_000n), value: 20_000n })
    await chain.passTime(361)
    await world.start()
    expect((await world.until(stream, 'uncollectable')).reason).toBe('expired')
    expect(world.reports.join()).toContain('payment_uncollectable')
  })

  test('a block that is taken back makes the payment owed again, and it is paid again, once', async () => {
    const stream = await world.claim({ payer: await aPayer(50_000n), value: 20_000n })
    await world.start()
    await world.until(stream, 'confirmed')
    await chain.reorg(1)
    await chain.mine(3)
    await world.untilEvent('SettlementReorged')
    await world.until(stream, 'confirmed')
    await chain.mine(3)
    await world.until(stream, 'final')
    expect((await typesOf(stream)).filter((type) => type === 'SettlementConfirmed')).toHaveLength(2)
  })

  test('a payment with an account is told of before it is recorded as settled, and told until that works', async () => {
    const stream = await world.claim({
      payer: await aPayer(50_000n),
      value: 20_000n,
      accountId: randomUUID(),
    })
    const states: string[] = []
    await world.start({
      async onPaid() {
        states.push((await world.payment(stream)).state)
        if (states.length < 3) throw new Error('the accounts are away')
      },
    })
    await world.until(stream, 'confirmed')
    await chain.mine(2)
    await world.until(stream, 'final')
    expect(states).toEqual(['broadcast', 'confirmed', 'confirmed'])
  })

  test('two settlers that nobody keeps apart bring every payment in once', async () => {
    const payer = await aPayer(500_000n)
    const other = settlementWorld({ chain, gasKey, store: world.store })
    const streams = await Promise.all(
      Array.from({ length: 12 }, () => world.claim({ payer, value: 20_000n })),
    )
    await Promise.all([world.start(), other.start()])
    await Promise.all(streams.map((stream) => world.until(stream, 'confirmed')))
    await other.stop()
    expect(await chain.balanceOf(payer.address)).toBe(500_000n - 12n * 20_000n)
  })
})
