import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BASE, DEMO_CHAIN } from '../../../contracts/chain.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { tokenAbi } from '../chain/token-abi.ts'
import { settlementWorld } from '../testing/chain/settlement-world.ts'
import { missingChain } from '../testing/chain/test-chain.ts'
import { type DemoChain, startDemoChain } from './demo-chain.ts'
import { findAnvil } from './find-anvil.ts'
import { mint, openPlayChain } from './play-chain.ts'

const never = new AbortController().signal

test('a platform without anvil is told how it is missing', () => {
  expect(findAnvil('sunos', 'x64')).toEqual({
    binary: undefined,
    missing: 'there is no anvil for sunos on x64',
  })
  expect(findAnvil('win32', 'x64').missing).toBe('the package @foundry-rs/anvil-win32-amd64 is not installed')
})

describe.skipIf(missingChain !== undefined)(`the demo chain ${missingChain ?? ''}`, () => {
  let directory: string
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'demo-chain-'))
  })
  afterEach(() => rm(directory, { recursive: true, force: true }))

  const usdcOf = (demo: DemoChain, account: `0x${string}`): Promise<bigint> =>
    openPlayChain(demo.rpcUrl, DEMO_CHAIN).readContract({
      address: DEMO_CHAIN.usdc,
      abi: tokenAbi,
      functionName: 'balanceOf',
      args: [account],
    })

  test('has one payer with play money, and keeps keys, money and blocks over a restart', async () => {
    const first = await startDemoChain({ directory, blockTimeS: 1 })
    expect(privateKeyToAccount(first.demoPayerKey).address).toBe(first.demoPayer)
    expect(await usdcOf(first, first.demoPayer)).toBe(100_000_000n)
    const store = openMemoryStore({ now: Date.now })
    const world = settlementWorld({ on: DEMO_CHAIN, store, rpcUrl: first.rpcUrl, gasKey: first.settlerKey })
    const payer = privateKeyToAccount(first.demoPayerKey)
    const stream = await world.claim({ payer, value: 20_000n, payTo: first.payTo })
    await world.start()
    await world.until(stream, 'confirmed')
    await world.stop()
    await first.stop()

    const second = await startDemoChain({ directory, blockTimeS: 1 })
    expect({ ...second, rpcUrl: '', stop: 0, failure: 0 }).toEqual({
      ...first,
      rpcUrl: '',
      stop: 0,
      failure: 0,
    })
    expect(await usdcOf(second, second.payTo)).toBe(20_000n)
    const after = settlementWorld({ on: DEMO_CHAIN, store, rpcUrl: second.rpcUrl, gasKey: second.settlerKey })
    await openPlayChain(second.rpcUrl, DEMO_CHAIN).mine({ blocks: 20 })
    await after.start()
    await after.until(stream, 'final')
    await after.stop()
    await second.stop()
  })

  test('whose service was killed is ended in order by the next: not a block of it is missing', async () => {
    const first = await startDemoChain({ directory, blockTimeS: 1 })
    await mint(openPlayChain(first.rpcUrl, DEMO_CHAIN), first.payTo, 7n)
    const second = await startDemoChain({ directory, blockTimeS: 1 })
    expect(await usdcOf(second, second.payTo)).toBe(7n)
    await Promise.all([first.stop(), second.stop()])
  })

  test('that is killed too has on its disk what it called final', async () => {
    const first = await startDemoChain({ directory, blockTimeS: 1 })
    const node = openPlayChain(first.rpcUrl, DEMO_CHAIN)
    await mint(node, first.payTo, 7n)
    const minted = await node.getBlockNumber()
    while ((await node.getBlock({ blockTag: 'finalized' })).number < minted) await sleep(50, never)
    process.kill(Number(await readFile(join(directory, 'anvil.pid'), 'utf8')), 'SIGKILL')
    await first.stop()
    const second = await startDemoChain({ directory, blockTimeS: 1 })
    expect(await usdcOf(second, second.payTo)).toBe(7n)
    await second.stop()
  })

  test('a chain that cannot be read begins anew, and what it had is settled again while it is valid', async () => {
    const first = await startDemoChain({ directory, blockTimeS: 1 })
    const store = openMemoryStore({ now: Date.now })
    const world = settlementWorld({ on: DEMO_CHAIN, store, rpcUrl: first.rpcUrl, gasKey: first.settlerKey })
    const stream = await world.claim({
      payer: privateKeyToAccount(first.demoPayerKey),
      value: 20_000n,
      payTo: first.payTo,
    })
    await world.start()
    await world.until(stream, 'confirmed')
    await world.stop()
    await first.stop()
    await writeFile(join(directory, 'chain.json'), '{"half":')

    const told: string[] = []
    const second = await startDemoChain({
      directory,
      blockTimeS: 1,
      report: (event) => void told.push(event),
    })
    expect(told).toEqual(['demo_chain_begins_anew'])
    await openPlayChain(second.rpcUrl, DEMO_CHAIN).mine({ blocks: 20 })
    const after = settlementWorld({ on: DEMO_CHAIN, store, rpcUrl: second.rpcUrl, gasKey: second.settlerKey })
    await after.start()
    await after.untilEvent('SettlementReorged')
    await after.until(stream, 'confirmed')
    await openPlayChain(second.rpcUrl, DEMO_CHAIN).mine({ blocks: 20 })
    await after.until(stream, 'final')
    expect(await usdcOf(second, second.payTo)).toBe(20_000n)
    await after.stop()
    await second.stop()
  })

  test('has an id and a token of its own, so that nothing that is signed for it is good on Base', async () => {
    const demo = await startDemoChain({ directory, blockTimeS: 1 })
    const chain = openPlayChain(demo.rpcUrl, DEMO_CHAIN)
    expect(demo.on).toEqual(DEMO_CHAIN)
    expect(await chain.getChainId()).toBe(DEMO_CHAIN.id)
    expect(await chain.getCode({ address: BASE.usdc })).toBeUndefined()
    await demo.stop()
  })

  test('a folder of a chain that passed for Base is set aside, and what was to be settled there is given up', async () => {
    const keys = { payTo: generatePrivateKey(), settler: generatePrivateKey(), payer: generatePrivateKey() }
    await writeFile(join(directory, 'keys.json'), JSON.stringify(keys))
    await writeFile(join(directory, 'chain.json'), 'the former chain')
    const told: string[] = []
    const report = (event: string, { because }: Readonly<Record<string, string | number>>): void =>
      void told.push(`${event}: ${because}`)
    const demo = await startDemoChain({ directory, blockTimeS: 1, report })
    expect(told).toEqual([expect.stringMatching(/^demo_chain_begins_anew: .*passed for Base.*\.former/)])
    expect([demo.demoPayerKey, demo.settlerKey]).not.toContain(keys.payer)
    expect(JSON.parse(await readFile(join(directory, 'keys.json.former'), 'utf8'))).toEqual(keys)
    expect(await readFile(join(directory, 'chain.json.former'), 'utf8')).toBe('the former chain')
    // What the log holds of it, by a payer that has money on both.
    const store = openMemoryStore({ now: Date.now })
    const world = settlementWorld({ on: DEMO_CHAIN, store, rpcUrl: demo.rpcUrl, gasKey: demo.settlerKey })
    const payer = privateKeyToAccount(demo.demoPayerKey)
    const former = await world.claim({ on: BASE, payer, value: 20_000n, payTo: demo.payTo })
    const ours = await world.claim({ payer, value: 10_000n, payTo: demo.payTo })
    await world.start()
    expect((await world.until(former, 'uncollectable')).reason).toBe('refused')
    await world.until(ours, 'confirmed')
    expect(await usdcOf(demo, demo.payTo)).toBe(10_000n)
    await world.stop()
    await demo.stop()
    const again = await startDemoChain({ directory, blockTimeS: 1, report })
    expect([told.length, again.demoPayerKey]).toEqual([1, demo.demoPayerKey])
    await again.stop()
  })

  test('refuses a folder that holds something else', async () => {
    await writeFile(join(directory, 'keys.json'), '{"payer":"0x12"}')
    await expect(startDemoChain({ directory })).rejects.toMatchObject({ code: 'config_invalid' })
  })
})
