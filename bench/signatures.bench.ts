import { randomBytes } from 'node:crypto'
import { privateKeyToAccount } from 'viem/accounts'
import { BASE } from '../contracts/chain.ts'
import { createNativeRecovery } from '../services/payments/recovery/native-recovery.ts'
import type { Authorization, RecoverSigner } from '../services/payments/recovery/recover-signer.ts'
import { signingDomain } from '../services/payments/recovery/signing-domains.ts'
import { AUTHORIZATION_TYPES, createViemRecovery } from '../services/payments/recovery/viem-recovery.ts'
import { type Candidate, measure, print, report } from './support/measure.ts'

/**
 * Signatures of payments verified per second on one core: what the service does, beside viem, which does the same
 * for any type and in JavaScript. Both recover the signers of the same authorizations.
 *
 * node bench/signatures.bench.ts          BENCH_ROUNDS=5 BENCH_ROUND_MS=1000
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 1_000)
const PAYMENTS = 64

const NOW_S = Math.floor(Date.now() / 1_000)
const payer = privateKeyToAccount(`0x${randomBytes(32).toString('hex')}`)

async function signed(): Promise<{ authorization: Authorization; signature: `0x${string}` }> {
  const authorization = {
    on: BASE,
    rail: 'direct',
    payer: payer.address.toLowerCase() as `0x${string}`,
    payTo: `0x${'22'.repeat(20)}`,
    value: 20_000n,
    validAfter: 0n,
    validBefore: BigInt(NOW_S + 300),
    nonce: `0x${randomBytes(32).toString('hex')}`,
  } as const
  const signature = await payer.signTypedData({
    domain: signingDomain('direct', BASE),
    types: AUTHORIZATION_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: { ...authorization, from: authorization.payer, to: authorization.payTo },
  })
  return { authorization, signature }
}

const payments = await Promise.all(Array.from({ length: PAYMENTS }, signed))

const candidate = (name: string, recovery: RecoverSigner): Candidate => ({
  name,
  async round() {
    const start = performance.now()
    let units = 0
    while (performance.now() - start < ROUND_MS) {
      for (const { authorization, signature } of payments) {
        const signer = await recovery.recover(authorization, signature)
        if (signer !== authorization.payer) throw new Error(`${name} recovered ${signer ?? 'nobody'}`)
      }
      units += payments.length
    }
    return { units, milliseconds: performance.now() - start }
  },
})

const viem = candidate('viem', createViemRecovery())
const own = candidate('fixed struct and libsecp256k1', createNativeRecovery())

print(`verifying signed payments, ${ROUNDS} rounds of ${ROUND_MS} ms, interleaved`)
const measured = await measure([viem, own], ROUNDS)
report('one core', 'signatures/s', measured, viem.name, { [own.name]: 10 })
