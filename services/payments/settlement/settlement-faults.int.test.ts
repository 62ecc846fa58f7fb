import type { Hex } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors.ts'
import type { EventStore } from '../../log/event-store.ts'
import { expectBalances } from '../testing/chain/expect-balances.ts'
import { type RpcProxy, startRpcProxy } from '../testing/chain/rpc-proxy.ts'
import { PAY_TO, QUICK, type SettlementWorld, settlementWorld } from '../testing/chain/settlement-world.ts'
import { cancelCall, randomNonce } from '../testing/chain/sign-authorization.ts'
import { missingChain, startTestChain, type TestChain } from '../testing/chain/test-chain.ts'

const SEND = 'eth_sendRawTransaction'

describe.skipIf(missingChain !== undefined)(`settling over a bad line ${missingChain ?? ''}`, () => {
  let chain: TestChain
  let line: RpcProxy
  let world: SettlementWorld
  let before: bigint
  const funded = new Map<string, bigint>()

  const aClaim = async (usdc = 50_000n): Promise<string> => {
    const payer = await chain.payer(usdc)
    funded.set(payer.address.toLowerCase(), usdc)
    return world.claim({ payer, value: 20_000n })
  }
  /** Transactions of the gas wallet that are in blocks. */
  const sent = (): Promise<number> => chain.node.getTransactionCount({ address: world.gasAddress() })

  beforeAll(async () => {
    chain = await startTestChain()
  })
  afterAll(() => chain?.stop())
  beforeEach(async () => {
    funded.clear()
    line = await startRpcProxy(chain.rpcUrl)
    before = await chain.balanceOf(PAY_TO)
    const gasKey = await chain.gasWallet()
    world = settlementWorld({ chain, gasKey, rpcUrl: line.url, requestMs: 150 })
  })
  afterEach(async () => {
    line.setFault('none')
    await chain.setAutomine(true)
    await world.stop()
    await line.close()
    await expectBalances(world.store, chain, { payTo: PAY_TO, before, funded })
  })

  test.each(['refuse', 'hang', 'lose-answer'] as const)(
    '%s: payments wait for a node that is away',
    async (fault) => {
      line.setFault(fault)
      const stream = await aClaim()
      const away = line.hit(3)
      const settler = await world.start()
      await away
      while (settler.health().ok) await world.pause()
      expect(settler.health().detail).toMatch(/: The node of the chain did not tell/)
      expect(await world.history(stream)).toHaveLength(1)
      line.setFault('none')
      await world.until(stream, 'confirmed')
      while (!settler.health().ok) await world.pause()
    },
  )

  test('a transaction that the node took and did not answer for is found in its block', async () => {
    line.setFault('lose-answer', SEND)
    const stream = await aClaim()
    const lost = line.hit(1, SEND)
    await world.start()
    await lost
    const { transaction } = await world.until(stream, 'confirmed')
    expect((await world.history(stream)).map(({ type }) => type)).not.toContain('SettlementUnknown')
    expect((await world.untilEvent('SettlementConfirmed')).data).toMatchObject({ transaction, by: 'own' })
    expect(await sent()).toBe(1)
  })

  test.each(['refuse', 'hang'] as const)(
    '%s: a transaction that never reached the node is sent anew',
    async (fault) => {
      line.setFault(fault, SEND)
      const stream = await aClaim()
      const lost = line.hit(1, SEND)
      await world.start()
      await lost
      await world.untilEvent('SettlementUnknown')
      line.setFault('none')
      await world.until(stream, 'confirmed')
      expect(await sent()).toBe(1)
    },
  )

  test('answers that are lost one after the other end in one transfer', async () => {
    const stream = await aClaim()
    const settler = await world.start()
    for (let round = 0; round < 6; round++) {
      line.setFault('lose-answer')
      await line.hit(1)
      line.setFault('none')
      await world.pause()
    }
    await world.until(stream, 'confirmed')
    expect(await sent()).toBe(1)
    expect(settler.health().unknown).toBe(0)
  })

  test('a log that refuses thirty records in a row makes no transaction dearer', async () => {
    const inner = world.store
    let refusals = 30
    const store: EventStore = {
      ...inner,
      async append(stream, events, options) {
        if (refusals > 0 && events.some(({ type }) => type === 'SettlementBroadcast')) {
          refusals -= 1
          throw new ServiceError('revision_conflict', { message: 'another event is there' })
        }
        return inner.append(stream, events, options)
      },
    }
    const stream = await aClaim()
    const { baseFeePerGas } = await chain.node.getBlock()
    await world.start({ store })
    const { transaction } = await world.until(stream, 'confirmed')
    const { maxFeePerGas = 0n } = await chain.node.getTransaction({ hash: transaction as Hex })
    expect(refusals).toBe(0)
    // What the wallet takes for the market: twice the base fee, and a tip of a gwei here.
    expect(maxFeePerGas).toBeLessThanOrEqual(2n * (baseFeePerGas ?? 0n) + 1_000_000_000n)
  })

  test('a transaction that no block takes is replaced under its own account nonce, and one of the two counts', async () => {
    await chain.setAutomine(false)
    const payer = await fundedPayer()
    const stream = await world.claim({ payer, value: 20_000n })
    await world.start()
    await world.untilEvent('SettlementUnknown')
    // One more joins the replacement.
    const late = await world.claim({ payer, value: 10_000n })
    await world.untilEvent('SettlementBroadcast', late)
    await chain.mine(1)
    await Promise.all([world.until(stream, 'confirmed'), lateOne(late)])
    expect(await sent()).toBeLessThanOrEqual(2)
  })

  const fundedPayer = async () => {
    await chain.setAutomine(true)
    const payer = await chain.payer(50_000n)
    funded.set(payer.address.toLowerCase(), 50_000n)
    await chain.setAutomine(false)
    return payer
  }
  /** It was in the transaction that counts, or comes in the next. */
  const lateOne = async (late: string): Promise<void> => {
    await chain.setAutomine(true)
    await world.until(late, 'confirmed')
  }

  test('a node that is away for the whole validity: nothing is said before it is known', async () => {
    line.setFault('refuse')
    const stream = await aClaim()
    const away = line.hit(2)
    const settler = await world.start()
    await away
    await chain.passTime(400)
    const stillAway = line.hit(2)
    await stillAway
    expect(await world.history(stream)).toHaveLength(1)
    expect(settler.health()).toMatchObject({ ok: false, open: 1 })
    line.setFault('none')
    expect((await world.until(stream, 'uncollectable')).reason).toBe('expired')
  })

  test('what was sent and told by nobody is known again by its hash after the end of its validity', async () => {
    await chain.setAutomine(false)
    const payer = await fundedPayer()
    const stream = await world.claim({ payer, value: 20_000n })
    await world.start()
    const address = world.gasAddress()
    while ((await chain.node.getTransactionCount({ address, blockTag: 'pending' })) === 0) await world.pause()
    line.setFault('refuse')
    await chain.mine(1)
    await chain.passTime(400)
    line.setFault('none')
    const { transaction } = await world.until(stream, 'confirmed')
    const { status } = await chain.node.getTransactionReceipt({ hash: transaction as Hex })
    expect(status).toBe('success')
  })

  test('a payment whose logs the node does not tell holds up nobody else', async () => {
    const payer = await chain.payer(50_000n)
    funded.set(payer.address.toLowerCase(), 50_000n)
    const nonce = randomNonce()
    const cancelled = await world.claim({ payer, value: 20_000n, nonce })
    await chain.send(await cancelCall(payer, nonce))
    const other = await aClaim()
    line.setFault('refuse', 'eth_getLogs')
    const settler = await world.start()
    await world.until(other, 'confirmed')
    expect(settler.health()).toMatchObject({ ok: false, detail: expect.stringContaining('used for') })
    line.setFault('none')
    expect(await world.until(cancelled, 'uncollectable')).toMatchObject({ reason: 'cancelled' })
  })

  test('a node that was away for long is asked again soon: an authorization may end meanwhile', async () => {
    line.setFault('refuse')
    const stream = await aClaim()
    const away = line.hit(12, 'eth_chainId')
    await world.start({ timing: { ...QUICK, retryMaxMs: 3_600_000 } })
    await away
    line.setFault('none')
    expect(await world.until(stream, 'confirmed')).toMatchObject({ attempts: 1 })
  })
})
