import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { ExactEvmSchemeV1 } from '@x402/evm/exact/v1/facilitator'
import { createWalletClient, type Hex, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { BASE } from '../../../../contracts/chain.ts'
import type { JsonObject } from '../../../../contracts/json.ts'

/** The facilitator of the x402 packages, unmodified, with a wallet on a test chain. @returns what answers /settle */
export function referenceFacilitator(rpcUrl: string, gasKey: Hex): (body: JsonObject) => Promise<unknown> {
  const account = privateKeyToAccount(gasKey)
  const client = createWalletClient({
    account,
    chain: base,
    transport: http(rpcUrl),
    pollingInterval: 20,
  }).extend(publicActions)
  const signer = toFacilitatorEvmSigner({ ...client, address: account.address } as never)
  const facilitator = new x402Facilitator()
    .register(BASE.network, new ExactEvmScheme(signer))
    .registerV1(BASE.networkV1 as never, new ExactEvmSchemeV1(signer))
  return ({ paymentPayload, paymentRequirements }) =>
    facilitator.settle(paymentPayload as never, paymentRequirements as never)
}
