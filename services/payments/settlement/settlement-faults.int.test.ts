import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { BASE } from '../../../contracts/domain/chain.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { Chain } from '../chain/chain.ts'
import { createChain } from '../chain/create-chain.ts'
import { expectBalances } from '../testing/chain/expect-balances.ts'
import { type ServedFacilitator, serveReferenceFacilitator } from '../testing/chain/reference-facilitator.ts'
import { type RpcProxy, startRpcProxy } from '../testing/chain/rpc-proxy.ts'
import { PAY_TO, QUICK, type SettlementWorld, settlementWorld } from '../testing/chain/settlement-world.ts'
import { cancelCall, randomNonce } from '../testing/chain/sign-authorization.ts'
import { missingChain, startTestChain, type TestChain } from '../testing/chain/test-chain.ts'

describe.skipIf(missingChain !== undefined)(`settling over a bad line ${missingChain ?? ''}`, () => {
  let chain: TestChain
  let line: RpcProxy
  let facilitator: ServedFacilitator
  let facilitatorLine: RpcProxy
  let world: SettlementWorld
  let before: bigint
  const funded = new Map<string, bigint>()

  const aClaim = async (usdc = 50_000n): Promise<string> => {
    const payer = await chain.payer(usdc)
    funded.set(payer.address.toLowerCase(), usdc)
    return world.claim({ payer, value: 20_000n })
  }

  beforeAll(async () => {
    chain = await startTestChain()
  })
  afterAll(() => chain?.stop())
  beforeEach(async () => {
    funded.clear()
    line = await startRpcProxy(chain.rpcUrl)
    before = await chain.balanceOf(PAY_TO)
    facilitator = await serveReferenceFacilitator(chain.rpcUrl, await chain.gasWallet())
    facilitatorLine = await startRpcProxy(facilitator.url)
    world = settlementWorld({ chain, facilitatorUrl: facilitatorLine.url, rpcUrl: line.url, requestMs: 150 })
  })
  afterEach(async () => {
    line.setFault('none')
    await chain.setAutomine(true)
    await world.stop()
    await line.close()
    facilitatorLine.setFault('none')
    await facilitatorLine.close()
    facilitator.close()
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

  test.each(['refuse', 'lose-answer'] as const)(
    '%s: what the facilitator did or did not do is told by the chain',
    async (fault) => {
      facilitatorLine.setFault(fault, 'paymentPayload')
      const stream = await aClaim()
      const lost = facilitatorLine.hit(1, 'paymentPayload')
      await world.start()
      await lost
      facilitatorLine.setFault('none')
      const { transaction } = await world.until(stream, 'confirmed')
      expect((await world.untilEvent('SettlementConfirmed')).data).toMatchObject({ transaction })
      expect((await world.history(stream)).map(({ type }) => type)).toContain('SettlementUnknown')
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
    expect(settler.health().unknown).toBe(0)
  })

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

  test('what was sent and told by nobody is found on the chain after the end of its validity', async () => {
    facilitatorLine.setFault('lose-answer', 'paymentPayload')
    const stream = await aClaim()
    const lost = facilitatorLine.hit(1, 'paymentPayload')
    await world.start()
    await lost
    line.setFault('refuse')
    while ((await chain.balanceOf(PAY_TO)) === before) await world.pause()
    await chain.passTime(400)
    line.setFault('none')
    expect((await world.until(stream, 'confirmed')).blockNumber).toBeGreaterThan(0)
  })

  test('a payment of which the node tells nothing holds up nobody else', async () => {
    const payer = await chain.payer(50_000n)
    funded.set(payer.address.toLowerCase(), 50_000n)
    const nonce = randomNonce()
    const cancelled = await world.claim({ payer, value: 20_000n, nonce })
    await chain.send(await cancelCall(payer, nonce))
    const other = await aClaim()
    const node = createChain({ on: BASE, rpcUrl: chain.rpcUrl, elapsed: () => performance.now() })
    let isMute = true
    const outcomeOf: Chain['outcomeOf'] = async (transfer, since) => {
      if (isMute && transfer.nonce === nonce)
        throw new ServiceError('payments_unavailable', { message: 'The node has no log of it.' })
      return node.outcomeOf(transfer, since)
    }
    const settler = await world.start({ chain: { ...node, outcomeOf } })
    await world.until(other, 'confirmed')
    expect(settler.health()).toMatchObject({ ok: false, detail: expect.stringContaining('no log of it') })
    isMute = false
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
