import { BASE } from '../contracts/chain.ts'
import { transfersCall } from '../services/payments/chain/transfer-call.ts'
import { gasFor } from '../services/payments/settlement/gas.ts'
import { PAY_TO, QUICK, settlementWorld } from '../services/payments/testing/chain/settlement-world.ts'
import { signAuthorization } from '../services/payments/testing/chain/sign-authorization.ts'
import { missingChain, startTestChain } from '../services/payments/testing/chain/test-chain.ts'
import { createMemoryLog, openMemoryStore } from '../testing/memory-store/memory-store.ts'
import { measure, print, report } from './support/measure.ts'

/**
 * Settlements per second on a chain of this machine that makes a block of each transaction: what waits in the log
 * when the settler starts, in batches and one by one; and the gas that each costs.
 *
 * node bench/settlement.bench.ts          BENCH_ROUNDS=3
 *
 * On Base a block comes every two seconds, and the settler has one transaction on its way at a time: 25 settlements
 * in two seconds, in batches, and one without.
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const CLAIMS = 100

if (missingChain !== undefined) {
  print(`skipped: ${missingChain}`)
} else {
  const chain = await startTestChain()
  const gasKey = await chain.gasWallet()
  const payer = await chain.payer(10_000_000_000n)

  const settling = (name: string, most: number) => ({
    name,
    async round() {
      const store = openMemoryStore({ now: () => chain.now(), log: createMemoryLog() })
      const world = settlementWorld({ chain, gasKey, store })
      const streams = await Promise.all(
        Array.from({ length: CLAIMS }, () => world.claim({ payer, value: 10_000n })),
      )
      const start = performance.now()
      await world.start({ batch: most, timing: { ...QUICK, finalityMs: 60_000, pollMs: 2 } })
      await Promise.all(streams.map((stream) => world.until(stream, 'confirmed')))
      const milliseconds = performance.now() - start
      await world.stop()
      return { units: CLAIMS, milliseconds }
    },
  })

  const SINGLE = 'one by one'
  report(
    `${CLAIMS} claims settled, every step in the log`,
    'settlements/s',
    await measure([settling(SINGLE, 1), settling('25 in a transaction', 25)], ROUNDS),
    SINGLE,
    { '25 in a transaction': 2 },
  )

  print('\ngas of one settlement')
  const stranger = await chain.payer(10_000_000n)
  for (const count of [1, 25]) {
    const validBefore = BigInt(Math.floor(chain.now() / 1_000) + 300)
    const authorizations = await Promise.all(
      Array.from({ length: count }, () =>
        signAuthorization(stranger, { payTo: PAY_TO, value: 10_000n, validBefore }),
      ),
    )
    const { hash } = await chain.send(transfersCall(authorizations, BASE))
    const { gasUsed } = await chain.node.getTransactionReceipt({ hash })
    const allowed = gasFor(count) / BigInt(count)
    print(
      `  ${String(count).padStart(2)} in a transaction: ${gasUsed / BigInt(count)} (at most ${allowed} are offered)`,
    )
  }
  await chain.stop()
}
