import { join } from 'node:path'
import type { PaymentChain } from '../../../contracts/chain.ts'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { operatorSubscriptionsSchema } from '../../../contracts/webhook-answers.ts'
import { openStoredRows } from '../../log/embedded/stored-rows.ts'
import type { Service } from '../kit/service.ts'

export type Description = string | { readonly isDegraded: boolean; readonly detail: string }

/** How long a server may take to answer. */
export const CONNECT_MS = 3_000

/** Events are dated by this clock, so none is of its future. */
export function describeClock(directory: string, now: number): Description {
  const rows = openStoredRows(join(directory, 'events.db'))
  const newest = rows.at(rows.head())?.[6]
  rows.close()
  const behindMs = newest === undefined ? 0 : Date.parse(newest) - now
  if (behindMs <= CLOCK_GRACE_MS) return 'not behind the newest event of the log'
  return {
    isDegraded: true,
    detail: `${Math.ceil(behindMs / 1_000)} s behind the newest event of the log: set it by NTP`,
  }
}

const CLOCK_GRACE_MS = 5_000

/** Endpoints that refuse now, or refused for so long that nothing is sent to them. */
export async function describeWebhooks(requests: Service): Promise<Description> {
  let failing = 0
  for await (const { webhooks } of requests.pages('/operator/webhooks', {}, operatorSubscriptionsSchema))
    failing += webhooks.filter(
      ({ state, failures_in_a_row: failures }) => failures > 0 || state === 'disabled',
    ).length
  if (failing === 0) return 'none is failing'
  return { isDegraded: true, detail: `${failing} failing: \`signal webhooks list\` has them` }
}

/** Checks that the node of the chain answers, and is of the chain that payments are on. */
export async function describeChain(url: string, on: PaymentChain): Promise<string> {
  const { host } = new URL(url)
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })
  const headers = { 'content-type': 'application/json' }
  const sent = { method: 'POST', headers, body, signal: AbortSignal.timeout(CONNECT_MS) }
  let id: number
  try {
    const { result } = (await (await fetch(url, sent)).json()) as { readonly result?: unknown }
    id = Number(result)
  } catch (error) {
    throw new ServiceError('payments_unavailable', { message: `${host}: ${reasonOf(error)}`, cause: error })
  }
  if (id === on.id) return `${host} is a node of chain ${id}`
  throw new ServiceError('config_invalid', {
    message: `X402_RPC_URL: ${host} is a node of chain ${id}, and payments are on chain ${on.id}`,
  })
}
