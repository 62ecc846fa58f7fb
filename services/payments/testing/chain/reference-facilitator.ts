import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { createWalletClient, type Hex, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { BASE, type PaymentChain } from '../../../../contracts/domain/chain.ts'
import type { JsonObject } from '../../../../contracts/infra/json.ts'

/** The facilitator of the x402 packages, with a wallet on a chain of this machine. */
export function referenceFacilitator(rpcUrl: string, gasKey: Hex, on: PaymentChain = BASE) {
  const account = privateKeyToAccount(gasKey)
  const client = createWalletClient({
    account,
    chain: { ...base, id: on.id },
    transport: http(rpcUrl),
    pollingInterval: 20,
  }).extend(publicActions)
  // Its wallet takes the nonce of each transaction from the node: two at a time would have the same.
  let sending: Promise<unknown> = Promise.resolve()
  const inTurn =
    <Given extends readonly unknown[], Sent>(send: (...given: Given) => Promise<Sent>) =>
    (...given: Given): Promise<Sent> => {
      const sent = sending.then(() => send(...given))
      sending = sent.catch(() => undefined)
      return sent
    }
  const signer = toFacilitatorEvmSigner({
    ...client,
    address: account.address,
    writeContract: inTurn(client.writeContract),
    sendTransaction: inTurn(client.sendTransaction),
  } as never)
  const facilitator = new x402Facilitator()
  facilitator.register(on.network as never, new ExactEvmScheme(signer))
  return {
    verify: ({ paymentPayload, paymentRequirements }: JsonObject): Promise<unknown> =>
      facilitator.verify(paymentPayload as never, paymentRequirements as never),
    settle: ({ paymentPayload, paymentRequirements }: JsonObject): Promise<unknown> =>
      facilitator.settle(paymentPayload as never, paymentRequirements as never),
  }
}

export interface ServedFacilitator {
  readonly url: string
  close(): void
}

/** The same over HTTP: `/verify`, `/settle` and `/supported`, as any facilitator of x402 has them. */
export async function serveReferenceFacilitator(
  rpcUrl: string,
  gasKey: Hex,
  on: PaymentChain = BASE,
): Promise<ServedFacilitator> {
  const facilitator = referenceFacilitator(rpcUrl, gasKey, on)
  const answer = async (request: IncomingMessage): Promise<unknown> => {
    if (request.url === '/supported')
      return { kinds: [{ x402Version: 2, scheme: 'exact', network: on.network }] }
    const body = (await json(request)) as JsonObject
    return request.url === '/verify' ? facilitator.verify(body) : facilitator.settle(body)
  }
  const server = createServer((request, response) => {
    const send = (status: number, body: unknown): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    answer(request).then(
      (body) => send(200, body),
      (error: unknown) => send(500, { error: String(error) }),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
