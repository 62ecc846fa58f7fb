import { BASE } from '../../../contracts/chain.ts'
import { reasonOf } from '../../../contracts/errors.ts'
import { createNativeRecovery } from './native-recovery.ts'
import type { Authorization, RecoverSigner } from './recover-signer.ts'
import { createViemRecovery } from './viem-recovery.ts'

export interface OpenRecoveryOptions {
  /** Told where the fast way is not used, which costs ten times the time for each payment. */
  readonly report: (event: string, details: Readonly<Record<string, string>>) => void
  /** Makes the fast way; a test gives one that is wrong. */
  readonly createFast?: (options: Pick<OpenRecoveryOptions, 'report'>) => RecoverSigner
}

/** An authorization, and the signature over it by the key whose number is one; over another value it is somebody else's. */
const KNOWN = {
  signer: '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf',
  signerOfOther: '0xea2ac68e352710e53e4f9992ea5cedeb6ceaca2e',
  signature:
    '0xb9610315cc2875f377a3e92b6e6a40629eb57acad3e865ad7e43fc183795dcc013458fa7b462d3df3a108a7f9c81c0f2d6c853cd62daad3bf7a217fe3516bcef1c',
  authorization: {
    on: BASE,
    rail: 'direct',
    payer: '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf',
    payTo: '0x2222222222222222222222222222222222222222',
    value: 20_000n,
    validAfter: 0n,
    validBefore: 1_800_000_000n,
    nonce: '0x0101010101010101010101010101010101010101010101010101010101010101',
  },
} as const satisfies { authorization: Authorization; [name: string]: unknown }

/**
 * The fastest way to recover signers that is right here. Before it is used it has to find the signer that is known of a
 * signature, and of the same one over another amount: a binary that goes wrong would give answers away.
 */
export async function openRecovery(options: OpenRecoveryOptions): Promise<RecoverSigner> {
  const { report, createFast = createNativeRecovery } = options
  const fallBack = (reason: string): RecoverSigner => {
    report('signatures are verified by the slow way', { reason })
    return createViemRecovery()
  }
  try {
    const fast = createFast({ report })
    const fault = await faultOf(fast)
    return fault === undefined ? fast : fallBack(fault)
  } catch (error) {
    return fallBack(reasonOf(error))
  }
}

async function faultOf(fast: RecoverSigner): Promise<string | undefined> {
  const { authorization, signature, signer, signerOfOther } = KNOWN
  const tampered = { ...authorization, value: authorization.value + 1n }
  const [right, wrong] = [
    await fast.recover(authorization, signature),
    await fast.recover(tampered, signature),
  ]
  if (right !== signer) return `it takes ${right ?? 'nobody'} for the signer of a signature by ${signer}`
  return wrong === signerOfOther
    ? undefined
    : `it takes ${wrong ?? 'nobody'} for the signer of a signature that is of ${signerOfOther}`
}
