import { createPublicClient, type Hex, http, type PublicClient } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import type { PaymentChain } from '../../../contracts/chain.ts'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'

export interface NodeOptions {
  readonly on: PaymentChain
  /** JSON-RPC over HTTP; may hold a key, so that it stands in no message. */
  readonly rpcUrl: string
  /** How long one request may take, milliseconds. */
  readonly requestMs?: number
}

/** Public nodes refuse batches that are much larger. */
const BATCH_REQUESTS = 50

export type NodeClient = ReturnType<typeof createNodeClient>

/** The node, asked by viem, and a way to ask that ends in time and in an error of this service. */
export function createNodeClient({ on, rpcUrl, requestMs = LIMITS.chainRequestMs }: NodeOptions) {
  const client = createPublicClient({
    chain: base,
    // Answers are of their moment: what was true for the question before may not be for this one.
    cacheTime: 0,
    // A question that is repeated behind our back could send a transaction twice, and takes longer than it may.
    transport: http(rpcUrl, { timeout: requestMs, retryCount: 0, batch: { batchSize: BATCH_REQUESTS } }),
  }) as PublicClient
  const hidden = secretsIn(rpcUrl)
  const reason = (error: unknown): string => shortReason(error, hidden)
  return {
    on,
    client,
    /** The short reason of a failure, without the node's address and the secrets in it. */
    reasonOf: reason,
    /**
     * Asks. Questions of one moment share one HTTP request.
     *
     * @param what for the message: `the balance of a payer`
     * @throws ServiceError `payments_unavailable`, which says nothing about what happened
     */
    async ask<Answer>(what: string, question: (client: PublicClient) => Promise<Answer>) {
      try {
        return await question(client)
      } catch (cause) {
        throw new ServiceError('payments_unavailable', {
          message: `The node of the chain did not tell ${what}: ${reason(cause)}`,
          cause,
        })
      }
    },
  }
}

/** Shorter parts of an address are words of everybody's, like `v2`. */
const SECRET_CHARACTERS = 8

/** The parts of an address that may be keys: nodes repeat their path in answers, and anybody may read those. */
function secretsIn(rpcUrl: string): string[] {
  const { username, password, pathname, searchParams } = new URL(rpcUrl)
  const parts = [username, password, ...pathname.split('/'), ...searchParams.values()]
  const spellings = parts.flatMap((part) => [part, decoded(part), encodeURIComponent(part)])
  const secrets = spellings.filter(({ length }) => length >= SECRET_CHARACTERS)
  // Longer ones first: a part of one may be another.
  return [...new Set(secrets)].toSorted((one, other) => other.length - one.length)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The first line of what viem says: the others repeat the request and the node's address. */
function shortReason(error: unknown, hidden: readonly string[]): string {
  const { shortMessage, details } = error as { shortMessage?: string; details?: string }
  const line = (shortMessage ?? reasonOf(error)).split('\n')[0] ?? ''
  const more = details === undefined || details === '' || line.includes(details) ? '' : ` (${details})`
  const shown = `${line}${more}`.replaceAll(/https?:\/\/\S+/g, 'the node')
  return hidden.reduce((text, secret) => text.replaceAll(secret, '…'), shown).slice(0, 160)
}

/** The account of a private key. @param setting names it in the refusal. @throws ServiceError `config_invalid` */
export function keyAccount(privateKey: string, setting: string): PrivateKeyAccount {
  try {
    return privateKeyToAccount(privateKey as Hex)
  } catch {
    // The library's error may repeat the key.
    throw new ServiceError('config_invalid', {
      message: `${setting} is not a private key: it must be 0x and 64 hexadecimal digits, not zero and below the order of the curve`,
    })
  }
}
