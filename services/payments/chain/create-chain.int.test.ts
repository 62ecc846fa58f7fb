import type { PrivateKeyAccount } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { BASE } from '../../../contracts/domain/chain.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type RpcProxy, startRpcProxy } from '../testing/chain/rpc-proxy.ts'
import { PAY_TO } from '../testing/chain/settlement-world.ts'
import {
  cancelCall,
  randomNonce,
  signAuthorization,
  transferCall,
} from '../testing/chain/sign-authorization.ts'
import { missingChain, startTestChain, type TestChain } from '../testing/chain/test-chain.ts'
import type { Chain, SignedAuthorization } from './chain.ts'
import { createChain } from './create-chain.ts'

describe.skipIf(missingChain !== undefined)(`the chain as a node tells it ${missingChain ?? ''}`, () => {
  let node: TestChain
  let line: RpcProxy
  let chain: Chain
  let now = Date.now()

  beforeAll(async () => {
    node = await startTestChain()
  })
  afterAll(() => node?.stop())
  beforeEach(async () => {
    line = await startRpcProxy(node.rpcUrl)
    chain = createChain({ on: BASE, rpcUrl: line.url, requestMs: 150, elapsed: () => now })
  })
  afterEach(() => line.close())

  const soon = (): bigint => BigInt(Math.floor(node.now() / 1_000) + 300)
  const sign = (
    payer: PrivateKeyAccount,
    value = 20_000n,
    nonce = randomNonce(),
  ): Promise<SignedAuthorization> =>
    signAuthorization(payer, { payTo: PAY_TO, value, validBefore: soon(), nonce })

  test('the balance of a payer is asked first, and then only the nonce again for a while', async () => {
    const payer = (await node.payer(50_000n)).address
    const key = { payer, nonce: randomNonce() }
    const asked = () => line.requests.map((text) => (JSON.parse(text) as unknown[]).length)
    expect(await chain.payerStatus(key, 0n)).toEqual({ balance: 50_000n, isNonceUsed: false, hasCode: false })
    expect(asked()).toEqual([1, 2])
    await node.mint(payer, 1n)
    // An account that has delegated itself to a contract (EIP-7702).
    await node.setCode(payer, `0xef0100${PAY_TO.slice(2)}`)
    expect(await chain.payerStatus(key, 50_000n)).toMatchObject({ balance: 50_000n, hasCode: false })
    expect(asked()).toEqual([1, 2, 1])
    now += LIMITS.payerBalanceMs
    expect(await chain.payerStatus(key, 0n)).toMatchObject({ balance: 50_001n, hasCode: false })
    now += LIMITS.payerCodeMs
    expect(await chain.payerStatus(key, 0n)).toMatchObject({ hasCode: true })
  })

  test('of who has too little nothing but the balance is asked, and that once for all who come together', async () => {
    const payer = (await node.payer(1n)).address
    const before = line.requests.length
    const all = Array.from({ length: 5 }, () => chain.payerStatus({ payer, nonce: randomNonce() }, 2n))
    expect((await Promise.all(all)).map(({ balance }) => balance)).toEqual([1n, 1n, 1n, 1n, 1n])
    await chain.payerStatus({ payer, nonce: randomNonce() }, 2n)
    expect(line.requests.slice(before).map((text) => (JSON.parse(text) as unknown[]).length)).toEqual([1])
  })

  test.each(['refuse', 'hang'] as const)(
    '%s: a node that is away is said to be, without its address',
    async (fault) => {
      line.setFault(fault)
      const asked = chain.payerStatus({ payer: PAY_TO, nonce: randomNonce() }, 0n)
      const error = await asked.then(
        () => undefined,
        (failure: Error) => failure,
      )
      expect(error).toMatchObject({ code: 'payments_unavailable' })
      expect(error?.message).toMatch(/^The node of the chain did not tell/)
      expect(error?.message).not.toContain('127.0.0.1')
      line.setFault('none')
    },
  )

  test('an authorization is unused, paid with its block, or cancelled', async () => {
    const payer = await node.payer(50_000n)
    const [paid, cancelled] = [await sign(payer), await sign(payer)]
    expect(await chain.outcomeOf(paid, node.now())).toEqual({ kind: 'unused' })
    const { hash } = await node.send(transferCall(paid))
    const receipt = await node.node.getTransactionReceipt({ hash })
    expect(await chain.outcomeOf(paid, node.now())).toEqual({
      kind: 'paid',
      transaction: hash,
      blockNumber: Number(receipt.blockNumber),
      blockHash: receipt.blockHash,
    })
    expect((await node.send(await cancelCall(payer, cancelled.nonce))).status).toBe('success')
    expect(await chain.outcomeOf(cancelled, node.now())).toMatchObject({ kind: 'cancelled' })
  })

  test('a use is found behind many blocks, and not looked for before its claim', async () => {
    const payer = await node.payer(50_000n)
    const paid = await sign(payer)
    await node.send(transferCall(paid))
    const signedAt = node.now()
    await node.mine(LIMITS.chainLogBlocks + 10)
    expect(await chain.outcomeOf(paid, signedAt)).toMatchObject({ kind: 'paid' })
    await expect(chain.outcomeOf(paid, signedAt + 86_400_000)).rejects.toMatchObject({
      code: 'payments_unavailable',
      message: expect.stringContaining('no log of it'),
    })
  })

  test('blocks are there, or not yet', async () => {
    const newest = Number(await node.node.getBlockNumber())
    expect(await chain.blockHash(newest)).toMatch(/^0x[0-9a-f]{64}$/)
    expect(await chain.blockHash(newest + 100)).toBeUndefined()
    expect(await chain.finalBlock()).toBeLessThan(newest)
    expect(await chain.chainId()).toBe(8_453)
  })
})
