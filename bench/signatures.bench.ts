import { randomBytes } from 'node:crypto'
import { recoverTypedDataAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { BASE } from '../contracts/domain/chain.ts'
import {
  AUTHORIZATION_TYPES,
  type Authorization,
  openRecovery,
  type RecoverSigner,
  signingDomain,
} from '../services/payments/verification/recover-signer.ts'
import { type Candidate, measure, print, report } from './support/measure.ts'

/**
 * Signatures of payments verified per second on one core: the service beside viem alone. Both recover the signers of the same authorizations.
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

const candidate = (name: string, recover: RecoverSigner): Candidate => ({
  name,
  async round() {
    const start = performance.now()
    let units = 0
    while (performance.now() - start < ROUND_MS) {
      for (const { authorization, signature } of payments) {
        const signer = await recover(authorization, signature)
        if (signer !== authorization.payer) throw new Error(`${name} recovered ${signer ?? 'nobody'}`)
      }
      units += payments.length
    }
    return { units, milliseconds: performance.now() - start }
  },
})

const byViem: RecoverSigner = async ({ on, rail, ...terms }, signature) => {
  const signer = await recoverTypedDataAddress({
    domain: signingDomain(rail, on),
    types: AUTHORIZATION_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: { ...terms, from: terms.payer, to: terms.payTo },
    signature,
  })
  return signer.toLowerCase() as `0x${string}`
}
const viem = candidate('viem', byViem)
const recovery = await openRecovery({ report: (event) => print(event) })
const own = candidate('hash by viem, libsecp256k1', recovery)

print(`verifying signed payments, ${ROUNDS} rounds of ${ROUND_MS} ms, interleaved`)
const measured = await measure([viem, own], ROUNDS)
report('one core', 'signatures/s', measured, viem.name, { [own.name]: 4 })
