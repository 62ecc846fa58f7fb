import type { PrivateKeyAccount } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { BASE } from '../../../contracts/domain/chain.ts'
import type { ServiceEvent } from '../../../contracts/events/event-catalogue.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import type { LoadedPayment, Payment } from '../payment.ts'
import { expectBalances } from '../testing/chain/expect-balances.ts'
import { referenceFacilitator } from '../testing/chain/reference-facilitator.ts'
import {
  type FacilitatorAct,
  type ScriptedFacilitator,
  startScriptedFacilitator,
} from '../testing/chain/scripted-facilitator.ts'
import { PAY_TO, type SettlementWorld, settlementWorld } from '../testing/chain/settlement-world.ts'
import { randomNonce, signAuthorization, transferCall } from '../testing/chain/sign-authorization.ts'
import { missingChain, startTestChain, type TestChain } from '../testing/chain/test-chain.ts'
import { createFacilitator, type Facilitator } from './facilitator.ts'

const HASH = `0x${'ab'.repeat(32)}`
const USED: FacilitatorAct = { json: { success: false, errorReason: 'nonce_already_used' } }
const EMPTY: FacilitatorAct = { json: { success: false, errorReason: 'insufficient_balance' } }
const UNLISTED: FacilitatorAct = { json: { success: false, errorReason: 'refused: invalid nonce' } }
const publicUrl = (): string => 'https://signals.example.com'

const servers: ScriptedFacilitator[] = []
const worlds: SettlementWorld[] = []
afterEach(async () => {
  await Promise.all(worlds.splice(0).map((world) => world.stop()))
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

/** A facilitator that does these things in turn, the last of them ever after. */
async function acting(
  ...acts: readonly FacilitatorAct[]
): Promise<ScriptedFacilitator & { client: Facilitator }> {
  const server = await startScriptedFacilitator((_, count) => acts[Math.min(count, acts.length - 1)] ?? 'cut')
  servers.push(server)
  // Only who never answers is given up early: on a busy machine an answer may take its time.
  const requestMs = acts.includes('hang') ? 100 : 5_000
  return { ...server, client: createFacilitator({ on: BASE, url: server.url, publicUrl, requestMs }) }
}
const aWorld = (options: Parameters<typeof settlementWorld>[0] = {}): SettlementWorld => {
  const world = settlementWorld(options)
  worlds.push(world)
  return world
}
const typesOf = async (world: SettlementWorld, stream: string): Promise<string[]> =>
  (await world.history(stream)).map(({ type }) => type)
const somebody = (): PrivateKeyAccount => privateKeyToAccount(generatePrivateKey())

describe('the gateway', () => {
  const claimAt = (world: SettlementWorld): Promise<string> =>
    world.claim({
      payer: somebody(),
      value: 20_000n,
      rail: 'gateway',
      isServedFirst: false,
      validBefore: BigInt(Math.floor(Date.now() / 1_000) + 604_900),
    })

  test('credits, and that is final', async () => {
    const gateway = await acting({ json: { success: true, transaction: 'c1f0-transfer' } })
    const world = aWorld()
    const stream = await claimAt(world)
    await world.start({ gateway: gateway.client })
    expect(await world.until(stream, 'final')).toMatchObject({
      transaction: 'c1f0-transfer',
      blockNumber: null,
    })
    const body = gateway.settled[0]?.body
    expect(Object.keys(body ?? {}).toSorted()).toEqual(['paymentPayload', 'paymentRequirements'])
    expect(body?.['paymentRequirements']).toMatchObject({
      network: 'eip155:8453',
      maxTimeoutSeconds: 604_900,
      extra: { name: 'GatewayWalletBatched', version: '1' },
    })
  })

  test('refuses, and that is the end', async () => {
    const gateway = await acting({ json: { success: false, errorReason: 'insufficient_balance' } })
    const world = aWorld()
    const stream = await claimAt(world)
    await world.start({ gateway: gateway.client })
    expect(await world.until(stream, 'uncollectable')).toMatchObject({ reason: 'insufficient_funds' })
  })

  test.each<[string, readonly FacilitatorAct[], JsonObject, Payment['state']]>([
    ['is the transfer of this payment', ['cut', USED], {}, 'final'],
    ['is the transfer, whose money is missing for the next', ['cut', EMPTY], {}, 'final'],
    ['is not found', ['cut', USED], { nonce: HASH }, 'unknown'],
    ['is for somebody else', ['cut', USED], { toAddress: HASH.slice(0, 42) }, 'unknown'],
    ['is from somebody else', ['cut', USED], { fromAddress: HASH.slice(0, 42) }, 'unknown'],
    ['is of less', ['cut', USED], { amount: '10000' }, 'unknown'],
    ['has failed', ['cut', USED], { status: 'failed' }, 'unknown'],
    ['is not found after a refusal that proves nothing', ['cut', EMPTY], { nonce: HASH }, 'unknown'],
    ['is not looked for where the first word is that it is used', [USED], {}, 'uncollectable'],
    ['is not looked for after a text that is no code', ['cut', UNLISTED], { nonce: HASH }, 'unknown'],
  ])(
    'whose answer was lost is paid by a transfer that it shows alone: it %s',
    async (_, acts, wrong, end) => {
      const gateway = await acting(...acts)
      const world = aWorld()
      const stream = await claimAt(world)
      const [claimed] = await world.history(stream)
      const { payer, payTo, value, nonce } = (claimed as ServiceEvent).data as LoadedPayment['claim']
      const ours = { fromAddress: payer, toAddress: payTo, amount: value, nonce, status: 'received' }
      gateway.transfers.push({ id: 'c1f0-transfer', ...ours, ...wrong })
      await world.start({ gateway: gateway.client })
      const payment = await world.until(stream, end)
      if (end === 'final') expect(payment.transaction).toBe('c1f0-transfer')
      if (end === 'unknown') await expect.poll(() => gateway.settled.length).toBeGreaterThan(4)
      expect(await world.payment(stream)).toMatchObject({ state: end })
    },
  )
})

describe.skipIf(missingChain !== undefined)(`a facilitator beside a node ${missingChain ?? ''}`, () => {
  let chain: TestChain
  let before: bigint
  let payer: PrivateKeyAccount
  let world: SettlementWorld

  beforeAll(async () => {
    chain = await startTestChain()
  })
  afterAll(() => chain?.stop())
  beforeEach(async () => {
    before = await chain.balanceOf(PAY_TO)
    payer = await chain.payer(100_000n)
    world = aWorld({ chain })
  })
  const expectEqual = (): Promise<void> =>
    expectBalances(world.store, chain, {
      payTo: PAY_TO,
      before,
      funded: new Map([[payer.address.toLowerCase(), 100_000n]]),
    })

  /** The reference, for the requests that are not spoiled. */
  async function reference(spoil: (count: number) => FacilitatorAct | undefined) {
    const { settle } = referenceFacilitator(chain.rpcUrl, await chain.gasWallet())
    const server = await startScriptedFacilitator(async (body, count) => {
      const json = await settle(body)
      return spoil(count) ?? { json }
    })
    servers.push(server)
    return { server, client: createFacilitator({ on: BASE, url: server.url, publicUrl, requestMs: 3_000 }) }
  }

  test('the reference facilitator settles what we forward', async () => {
    const { server, client } = await reference(() => undefined)
    const stream = await world.claim({ payer, value: 20_000n, protocol: 1 })
    await world.start({ facilitator: client })
    const { blockNumber } = await world.until(stream, 'confirmed')
    expect(blockNumber).toBeGreaterThan(0)
    expect((await world.untilEvent('SettlementConfirmed')).data).toMatchObject({ by: 'facilitator' })
    await chain.mine(2)
    await world.until(stream, 'final')
    expect(server.settled).toHaveLength(1)
    await expectEqual()
  })

  test.each<[string, FacilitatorAct, RegExp]>([
    ['that hangs up', 'cut', /did not answer/],
    ['that answers garbage', { text: '<html>502</html>' }, /without JSON/],
    ['that answers without a verdict', { json: { hello: 1 } }, /without a verdict/],
    ['that names no transaction', { json: { success: true, transaction: '' } }, /names no transaction/],
    ['that names something else', { json: { success: true, transaction: '0x12' } }, /no transaction: 0x12/],
    ['that answers more than is read', { json: { success: true, padding: 'x'.repeat(70_000) } }, /bytes/],
    [
      'that fails',
      { status: 500, json: { success: false, errorReason: 'unexpected_settle_error' } },
      /unexpected/,
    ],
  ])('one %s leaves it unknown, says so once, and is asked again', async (_, act, reason) => {
    const { settle } = referenceFacilitator(chain.rpcUrl, await chain.gasWallet())
    const server = await startScriptedFacilitator(async (body, count) =>
      count < 3 ? act : { json: await settle(body) },
    )
    servers.push(server)
    const stream = await world.claim({ payer, value: 20_000n })
    await world.start({ facilitator: createFacilitator({ on: BASE, url: server.url, publicUrl }) })
    expect((await world.until(stream, 'confirmed')).attempts).toBe(1)
    const unknown = (await world.history(stream)).filter(({ type }) => type === 'SettlementUnknown')
    expect(unknown.map(({ data }) => (data as { reason: string }).reason)).toEqual([
      expect.stringMatching(reason),
    ])
    expect(server.settled).toHaveLength(4)
    await expectEqual()
  })

  test('what it refuses is tried again, and each request is in the log before it', async () => {
    const facilitator = await acting(EMPTY)
    const stream = await world.claim({ payer, value: 20_000n })
    await world.start({ facilitator: facilitator.client })
    await expect.poll(() => facilitator.settled.length).toBeGreaterThan(3)
    await chain.passTime(361)
    expect(await world.until(stream, 'uncollectable')).toMatchObject({ reason: 'insufficient_funds' })
    const types = await typesOf(world, stream)
    expect(types.filter((type) => type === 'SettlementRequested')).toHaveLength(facilitator.settled.length)
    await expectEqual()
  })

  test('what it settled and could not tell is found on the chain', async () => {
    const { client } = await reference(() => 'cut')
    const stream = await world.claim({ payer, value: 20_000n })
    await world.start({ facilitator: client })
    await world.until(stream, 'confirmed')
    await expectEqual()
  })

  test('one that says settled and lies is found out', async () => {
    const facilitator = await acting({ json: { success: true, transaction: HASH } })
    const stream = await world.claim({ payer, value: 20_000n })
    await world.start({ facilitator: facilitator.client })
    await world.until(stream, 'broadcast')
    await chain.passTime(361)
    await world.until(stream, 'uncollectable')
    await expectEqual()
  })

  test('one that has sent it and does not know more is waited for', async () => {
    const facilitator = await acting({
      json: { success: false, errorReason: 'settlement_pending', transaction: HASH },
    })
    const nonce = randomNonce()
    const validBefore = BigInt(Math.floor(chain.now() / 1_000) + 300)
    const terms = { payer, value: 20_000n, nonce, validBefore, payTo: PAY_TO } as const
    const stream = await world.claim(terms)
    await world.start({ facilitator: facilitator.client })
    expect(await world.until(stream, 'unknown')).toMatchObject({ transaction: HASH })
    await chain.send(transferCall(await signAuthorization(payer, terms)))
    await world.until(stream, 'confirmed')
    await expectEqual()
  })

  test('one that is down for the whole validity: nothing is lost but the payment', async () => {
    const facilitator = await acting('cut')
    const stream = await world.claim({ payer, value: 20_000n })
    await world.start({ facilitator: facilitator.client })
    await world.until(stream, 'unknown')
    await chain.passTime(361)
    expect(await world.until(stream, 'uncollectable')).toMatchObject({ reason: 'expired' })
    await expectEqual()
  })
})

test('a facilitator says what it supports, or why it cannot be used', async () => {
  const facilitator = await acting('cut')
  const { client, url } = facilitator
  const { signal } = new AbortController()
  expect(await client.problem(signal)).toBeUndefined()
  const lost = createFacilitator({ on: BASE, url: `${url}/nowhere`, publicUrl, requestMs: 100 })
  expect(await lost.settle({ ...CLAIM, product: 'x' }, signal)).toMatchObject({ kind: 'unknown' })
  await facilitator.close()
  servers.splice(0)
  expect(await client.problem(signal)).toMatch(/did not answer/)
})

const CLAIM = {
  rail: 'direct',
  protocol: 2,
  payer: PAY_TO,
  payTo: PAY_TO,
  value: '1',
  validAfter: '0',
  validBefore: 1,
  nonce: HASH,
  signature: '0x',
} as unknown as LoadedPayment['claim']
