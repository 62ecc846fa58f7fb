import { createPublicClient, http, type PublicClient } from 'viem'
import { base } from 'viem/chains'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'

export interface NodeOptions {
  /** JSON-RPC over HTTP; may hold a key, so that it stands in no message. */
  readonly rpcUrl: string
  /** How long one request may take, milliseconds. */
  readonly requestMs?: number
}

/** The node, asked by viem, and a way to ask that ends in time and in an error of this service. */
export interface NodeClient {
  readonly client: PublicClient
  /**
   * Asks. Questions of one moment share one HTTP request.
   *
   * @param what for the message: `the balance of a payer`
   * @throws ServiceError `payments_unavailable`, which says nothing about what happened
   */
  ask<Answer>(what: string, question: (client: PublicClient) => Promise<Answer>): Promise<Answer>
}

/** Public nodes refuse batches that are much larger. */
const BATCH_REQUESTS = 50

export function createNodeClient({ rpcUrl, requestMs = LIMITS.chainRequestMs }: NodeOptions): NodeClient {
  const client = createPublicClient({
    chain: base,
    // Answers are of their moment: what was true for the question before may not be for this one.
    cacheTime: 0,
    // A question that is repeated behind our back could send a transaction twice, and takes longer than it may.
    transport: http(rpcUrl, { timeout: requestMs, retryCount: 0, batch: { batchSize: BATCH_REQUESTS } }),
  }) as PublicClient
  return {
    client,
    async ask(what, question) {
      try {
        return await question(client)
      } catch (cause) {
        throw new ServiceError('payments_unavailable', {
          message: `The node of the chain did not tell ${what}: ${shortReason(cause)}`,
          cause,
        })
      }
    },
  }
}

/** The first line of what viem says: the others repeat the request and the node's address. */
export function shortReason(error: unknown): string {
  const { shortMessage, details } = error as { shortMessage?: string; details?: string }
  const line = (shortMessage ?? reasonOf(error)).split('\n')[0] ?? ''
  const more = details === undefined || details === '' || line.includes(details) ? '' : ` (${details})`
  return `${line}${more}`.replaceAll(/https?:\/\/\S+/g, 'the node').slice(0, 160)
}
