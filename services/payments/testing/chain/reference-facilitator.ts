import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { ExactEvmSchemeV1 } from '@x402/evm/exact/v1/facilitator'
import { createWalletClient, type Hex, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { BASE, type PaymentChain } from '../../../../contracts/chain.ts'
import type { JsonObject } from '../../../../contracts/json.ts'

/** The facilitator of the x402 packages, unmodified, with a wallet on a chain of this machine. */
export function referenceFacilitator(rpcUrl: string, gasKey: Hex, on: PaymentChain = BASE) {
  const account = privateKeyToAccount(gasKey)
  const client = createWalletClient({
    account,
    chain: { ...base, id: on.id },
    transport: http(rpcUrl),
    pollingInterval: 20,
  }).extend(publicActions)
  const signer = toFacilitatorEvmSigner({ ...client, address: account.address } as never)
  const facilitator = new x402Facilitator()
  facilitator.register(on.network as never, new ExactEvmScheme(signer))
  if (on.networkV1 !== undefined) facilitator.registerV1(on.networkV1 as never, new ExactEvmSchemeV1(signer))
  return {
    verify: ({ paymentPayload, paymentRequirements }: JsonObject): Promise<unknown> =>
      facilitator.verify(paymentPayload as never, paymentRequirements as never),
    settle: ({ paymentPayload, paymentRequirements }: JsonObject): Promise<unknown> =>
      facilitator.settle(paymentPayload as never, paymentRequirements as never),
  }
}
