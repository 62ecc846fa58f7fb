import type { Hex, PrivateKeyAccount } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { BASE } from '../../../contracts/chain.ts'
import type { ServiceEvent } from '../../../contracts/event-catalogue.ts'
import { creditStream, refundStream } from '../../../contracts/streams.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import {
  PAY_TO,
  type RefundChange,
  type SettlementWorld,
  settlementWorld,
} from '../testing/chain/settlement-world.ts'
import { missingChain, startTestChain, type TestChain } from '../testing/chain/test-chain.ts'
import { createRefundWallet } from './refund-wallet.ts'

const QUICK = { afterMs: 0, graceMs: 0, pollMs: 10, validityS: 600 } as const
const PRICE = 20_000n
const FUNDS = 1_000_000n

describe.skipIf(missingChain !== undefined)(`a refund ${missingChain ?? ''}`, () => {
  let chain: TestChain
  let gasKey: Hex
  const worlds: SettlementWorld[] = []

  beforeAll(async () => {
    chain = await startTestChain()
    gasKey = await chain.gasWallet()
  })
  afterEach(async () => void (await Promise.all(worlds.splice(0).map((world) => world.stop()))))
  afterAll(() => chain?.stop())

  function open(change: { readonly now?: () => number } = {}): SettlementWorld {
    const world = settlementWorld({ chain, gasKey, ...change })
    worlds.push(world)
    return world
  }

  /** A refund wallet with so many millionths of a USDC. */
  async function purse(usdc = FUNDS) {
    const privateKey = generatePrivateKey()
    const { address } = privateKeyToAccount(privateKey)
    if (usdc > 0n) await chain.mint(address, usdc)
    return { address, wallet: createRefundWallet({ on: BASE, rpcUrl: chain.rpcUrl, privateKey }) }
  }

  /** A payment whose answer waits for its money and was not given, by a payer with a dollar. */
  async function inVain(world: SettlementWorld, payer?: PrivateKeyAccount) {
    const from = payer ?? (await chain.payer(FUNDS))
    const stream = await world.claim({ payer: from, value: PRICE, isServedFirst: false })
    const { paymentId } = await world.payment(stream)
    await world.withhold(stream)
    return { stream, paymentId, payer: from }
  }

  const start = (world: SettlementWorld, refunds: RefundChange) =>
    world.start({}, { timing: QUICK, ...refunds })
  const ofType = (events: readonly ServiceEvent[], type: ServiceEvent['type']): ServiceEvent[] =>
    events.filter((event) => event.type === type)
  /** Blocks that make others final, while something is waited for. */
  async function mining<Value>(waited: Promise<Value>): Promise<Value> {
    const over = new AbortController()
    const ending = waited.finally(() => over.abort())
    while (!over.signal.aborted) {
      await chain.mine(1)
      await sleep(40, over.signal)
    }
    return ending
  }

  test('is a transfer to the payer, in the log with its transaction once that is final', async () => {
    const world = open()
    const { address, wallet } = await purse()
    const { stream, paymentId, payer } = await inVain(world)
    await start(world, { wallet })
    const payment = await mining(world.until(stream, 'refunded'))
    expect(payment.refund).toMatchObject({ by: 'transfer', isDone: true, cause: 'answer_not_given' })
    expect(await chain.balanceOf(payer.address)).toBe(FUNDS)
    expect(await chain.balanceOf(address)).toBe(FUNDS - PRICE)
    const transfer = await world.history(refundStream(paymentId))
    expect(transfer.map(({ type }) => type)).toEqual([
      'RefundAuthorised',
      'SettlementRequested',
      'SettlementBroadcast',
      'SettlementConfirmed',
      'SettlementFinalised',
    ])
    const [sent] = ofType(await world.history(stream), 'RefundSent')
    const final = transfer.at(-1)?.data as { transaction: string }
    expect(sent?.data).toMatchObject({ transaction: final.transaction, value: '20000' })
    // What a refund costs us, and who makes us give one back pays: nothing is gained by it, and the cap bounds it.
    const receipt = await chain.node.getTransactionReceipt({ hash: final.transaction as Hex })
    expect(receipt.gasUsed).toBeLessThan(110_000n)
  })

  test('waits for the settlement to be final, and is begun once it is', async () => {
    const world = open()
    const { wallet } = await purse()
    const { stream } = await inVain(world)
    await start(world, { wallet })
    await world.until(stream, 'confirmed')
    for (let looks = 0; looks < 20; looks++) await world.pause()
    expect((await world.payment(stream)).refund).toBeNull()
    await mining(world.until(stream, 'refunded'))
  })

  test('is not given twice where a block with it is taken back', async () => {
    const world = open()
    const { address, wallet } = await purse()
    const { stream, paymentId, payer } = await inVain(world)
    await start(world, { wallet })
    await mining(world.untilEvent('SettlementConfirmed', refundStream(paymentId)))
    const isFinal = ofType(await world.history(refundStream(paymentId)), 'SettlementFinalised').length > 0
    if (!isFinal) await chain.reorg(1)
    await mining(world.until(stream, 'refunded'))
    expect(await chain.balanceOf(payer.address)).toBe(FUNDS)
    expect(await chain.balanceOf(address)).toBe(FUNDS - PRICE)
    expect(ofType(await world.history(stream), 'RefundSent')).toHaveLength(1)
  })

  test('is one transfer also where two processes settle that nobody keeps apart', async () => {
    const world = open()
    const { address, wallet } = await purse()
    const many = []
    for (let payments = 0; payments < 6; payments++) many.push(await inVain(world))
    await Promise.all([start(world, { wallet }), start(world, { wallet })])
    for (const { stream, payer } of many) {
      await mining(world.until(stream, 'refunded'))
      expect(await chain.balanceOf(payer.address)).toBe(FUNDS)
      const history = await world.history(stream)
      expect(ofType(history, 'RefundBegun')).toHaveLength(1)
      expect(ofType(history, 'RefundSent')).toHaveLength(1)
    }
    expect(await chain.balanceOf(address)).toBe(FUNDS - 6n * PRICE)
  })

  test('of more than the cap of the day is a credit, and on the next day a transfer', async () => {
    let aheadMs = 0
    // An hour before a midnight that is more than an hour away: the refunder is never behind the chain.
    const midnight = Math.ceil((chain.now() + 3_600_000) / 86_400_000) * 86_400_000
    const shift = midnight - 3_600_000 - chain.now()
    const now = (): number => chain.now() + shift + aheadMs
    const world = open()
    const { wallet } = await purse()
    const refunds = { wallet, dailyCap: 2n * PRICE - 1n, now }
    const first = await inVain(world)
    await start(world, refunds)
    await mining(world.until(first.stream, 'refunded'))
    const second = await inVain(world)
    const credited = mining(world.untilEvent('CreditGiven'))
    expect((await credited).data).toMatchObject({ paymentId: second.paymentId, balance: '20000' })
    aheadMs = 7_200_000
    const third = await inVain(world)
    await mining(world.until(third.stream, 'refunded'))
    const refundOf = async ({ stream }: typeof first) => (await world.payment(stream)).refund
    expect(await refundOf(first)).toMatchObject({ by: 'transfer' })
    expect(await refundOf(second)).toMatchObject({ by: 'credit', why: 'daily_cap' })
    expect(await refundOf(third)).toMatchObject({ by: 'transfer' })
    expect(await chain.balanceOf(second.payer.address)).toBe(FUNDS - PRICE)
  })

  test('of more than the wallet has, begun at one moment, is a transfer as far as it reaches and a credit beyond', async () => {
    const world = open()
    const { address, wallet } = await purse(2n * PRICE - 1n)
    const many: Awaited<ReturnType<typeof inVain>>[] = []
    for (let payments = 0; payments < 3; payments++) many.push(await inVain(world))
    await start(world, { wallet })
    for (const { stream } of many) await mining(world.until(stream, 'refunded', 'final'))
    await mining(
      expect
        .poll(
          async () =>
            (await Promise.all(many.map(({ stream }) => world.payment(stream))))
              .map(({ refund }) => `${refund?.by} ${refund?.why}`)
              .toSorted(),
          { timeout: 20_000 },
        )
        .toEqual(['credit wallet_empty', 'credit wallet_empty', 'transfer null']),
    )
    await mining(expect.poll(() => chain.balanceOf(address), { timeout: 20_000 }).toBe(PRICE - 1n))
    // What has gone out is promised no more: a dollar for just one more is enough for it.
    await chain.mint(address, 1n)
    const next = await inVain(world)
    const { refund } = await mining(world.until(next.stream, 'refunded'))
    expect(refund).toMatchObject({ by: 'transfer' })
  })

  test.each([
    ['no_wallet', false],
    ['wallet_empty', true],
  ] as const)('without money to send (%s) is a credit, once', async (why, hasWallet) => {
    const world = open()
    const wallet = hasWallet ? (await purse(PRICE - 1n)).wallet : undefined
    const { stream, payer } = await inVain(world)
    await start(world, { wallet })
    await mining(world.untilEvent('CreditGiven'))
    expect((await world.payment(stream)).refund).toMatchObject({ by: 'credit', why })
    const credits = await world.history(creditStream(8453, payer.address.toLowerCase()))
    expect(credits.map(({ type }) => type)).toEqual(['CreditGiven'])
  })

  test('that the token refuses until its time is over becomes a credit, and nothing can be sent of it', async () => {
    const world = open()
    const { address, wallet } = await purse()
    const { stream, payer } = await inVain(world)
    await mining(start(world, { wallet: { ...wallet, balance: async () => FUNDS } }))
    await chain.setBlacklisted(address, true)
    await mining(world.untilEvent('RefundAuthorised'))
    await chain.passTime(QUICK.validityS + 120)
    await mining(world.untilEvent('CreditGiven'))
    await chain.setBlacklisted(address, false)
    expect((await world.payment(stream)).refund).toMatchObject({ by: 'credit', why: 'not_sent' })
    expect(await chain.balanceOf(payer.address)).toBe(FUNDS - PRICE)
    expect(await chain.balanceOf(address)).toBe(FUNDS)
  })

  test('is not owed to a payer whose own doing delayed its payment', async () => {
    const world = open()
    const { wallet } = await purse()
    const payer = await chain.payer(0n)
    const { stream } = await inVain(world, payer)
    await start(world, { wallet })
    await world.untilEvent('SettlementFailed', stream)
    await chain.mint(payer.address, FUNDS)
    await mining(world.until(stream, 'final'))
    for (let looks = 0; looks < 20; looks++) await world.pause()
    expect((await world.payment(stream)).refund).toBeNull()
    expect(await chain.balanceOf(payer.address)).toBe(FUNDS - PRICE)
  })

  test('leaves the recipient alone: it is paid by the refund wallet', async () => {
    const world = open()
    const before = await chain.balanceOf(PAY_TO)
    const { wallet } = await purse()
    const { stream } = await inVain(world)
    await start(world, { wallet })
    await mining(world.until(stream, 'refunded'))
    expect(await chain.balanceOf(PAY_TO)).toBe(before + PRICE)
  })
})
