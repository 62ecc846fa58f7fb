import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { decodeEvent } from '../../../contracts/events/event-catalogue.ts'
import { openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { expectBalances } from '../testing/chain/expect-balances.ts'
import { type ServedFacilitator, serveReferenceFacilitator } from '../testing/chain/reference-facilitator.ts'
import { PAY_TO } from '../testing/chain/settlement-world.ts'
import { missingChain, startTestChain, type TestChain } from '../testing/chain/test-chain.ts'

const CHILD = join(import.meta.dirname, 'testing/crash-child.ts')
/** More steps than a batch of two has: the last rounds may end by themselves. */
const MOST_STEPS = 20
const BLOCK_MS = 100

describe.skipIf(missingChain !== undefined)(`a settler that is killed ${missingChain ?? ''}`, () => {
  let chain: TestChain
  let facilitator: ServedFacilitator | undefined
  let directory: string
  let running: ChildProcess | undefined
  /** Aborted when the time of a test is over: who goes on then keeps its process from ending. */
  let over: AbortSignal

  beforeAll(async () => {
    chain = await startTestChain()
    directory = await mkdtemp(join(tmpdir(), 'settler-crash-'))
  })
  beforeEach(({ signal }) => {
    over = signal
  })
  afterAll(async () => {
    // Where the test has failed, its child would go on for ever.
    running?.kill('SIGKILL')
    facilitator?.close()
    await chain?.stop()
    await rm(directory, { recursive: true, force: true })
  })

  async function run(args: readonly string[]): Promise<'killed' | 'ended'> {
    over.throwIfAborted()
    const child = spawn(process.execPath, [CHILD, directory, chain.rpcUrl, ...args], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    running = child
    const [code, signal] = await once(child, 'exit')
    running = undefined
    if (signal === 'SIGKILL') return 'killed'
    expect(code).toBe(0)
    return 'ended'
  }

  /** Blocks that make others final. */
  function mineAlong(): { stop(): Promise<void> } {
    const ending = new AbortController()
    const work = async (): Promise<void> => {
      while (!ending.signal.aborted && !over.aborted) {
        await chain.mine(1)
        await sleep(BLOCK_MS, ending.signal)
      }
    }
    const mining = work()
    return {
      async stop() {
        ending.abort()
        await mining
      },
    }
  }

  test('between any two steps goes on where it was: one transfer for each claim, and every claim final', async () => {
    facilitator = await serveReferenceFacilitator(chain.rpcUrl, await chain.gasWallet())
    const { url } = facilitator
    const payerKey = generatePrivateKey()
    const payer = privateKeyToAccount(payerKey).address
    await chain.mint(payer, 10_000_000n)
    const before = await chain.balanceOf(PAY_TO)
    const mining = mineAlong()

    let kills = 0
    for (let step = 1; step <= MOST_STEPS; step++) {
      if ((await run([url, payerKey, '2', String(step)])) === 'ended') break
      kills += 1
    }
    expect(kills).toBeGreaterThan(8)
    expect(await run([url, payerKey, '0', '0'])).toBe('ended')

    await mining.stop()
    const store = await openEmbeddedStore({ directory, now: Date.now })
    const events = await Array.fromAsync(store.readAll(), decodeEvent)
    const streams = (type: string): string[] =>
      events.filter((event) => event.type === type).map(({ stream }) => stream)
    expect(streams('PaymentClaimed')).toHaveLength(2 * (kills + (kills < MOST_STEPS ? 1 : 0)))
    expect(streams('SettlementFinalised').toSorted()).toEqual(streams('PaymentClaimed').toSorted())
    const funded = new Map([[payer.toLowerCase(), 10_000_000n]])
    await expectBalances(store, chain, { payTo: PAY_TO, before, funded })
    await store.close()
  }, 180_000)
})
