import type { Logger } from 'pino'
import type { Accounts } from '../accounts/index.ts'
import type { ToolHandler } from '../engine/index.ts'
import type { OnClose } from './adapters/open-platform.ts'
import type { Deps } from './open-deps.ts'
import { type Callers, openCallers } from './roles/callers.ts'
import { type OpenedKnowledge, openDocumentation } from './roles/knowledge.ts'
import { createMarketNow } from './roles/market-now.ts'
import { type OpenedPayments, openPayments } from './roles/payments.ts'
import { type OpenedTransparencyLog, openTransparencyLog } from './roles/transparency-log.ts'
import type { WatchList } from './roles/watch-list.ts'
import { type OpenedWebhooks, openWebhooks } from './roles/webhooks.ts'

/** Standard error is the operator's; a log that is shipped elsewhere is not the place for codes. */
const showOperator = (line: string): void => void process.stderr.write(`${line}\n`)

/** What callers are served by, over the parts that all of it shares. */
export interface CallerServices {
  readonly callers: Callers
  readonly payments: OpenedPayments
  readonly webhooks: OpenedWebhooks
  readonly knowledge: OpenedKnowledge
  /** Undefined where this process keeps no read models. */
  readonly transparencyLog: OpenedTransparencyLog | undefined
  readonly marketNow: () => number
}

/** Opens what callers are served by. */
export async function openCallerServices(
  deps: Deps,
  context: {
    readonly toolHandler: ToolHandler
    readonly watchList: WatchList | undefined
    readonly publicUrl: () => string
    readonly version: string
  },
  onClose: OnClose,
): Promise<CallerServices> {
  const { settings, feed, projector, running } = deps
  const { watchList } = context
  // A recorded market that is replayed elsewhere has no clock here; all of it lies in the past.
  const isReplayedElsewhere = settings.MARKET === 'recorded' && !settings.ROLES.includes('engine')
  const marketNow = isReplayedElsewhere ? Date.now : createMarketNow(feed, projector)
  const callers = openCallers({ ...deps, ...context, show: showOperator }, onClose)
  const common = { ...deps, ...context, ...callers, marketNow }
  const knowledge = await openDocumentation(common, onClose)
  running.payments = await openPayments(common, onClose)
  running.webhooks = openWebhooks({ ...common, exchanges: () => watchList?.exchanges }, onClose)
  const { webhooks, payments } = running
  const accounts = erasedWithWebhooks(callers.accounts, webhooks, deps.log)
  const transparencyLog = openTransparencyLog({ ...common, writer: () => payments.settler?.write })
  return { callers: { ...callers, accounts }, knowledge, marketNow, payments, transparencyLog, webhooks }
}

/** Settles, sends and signs, where this process does, until the signal. */
export async function runCallerServices(
  { payments, transparencyLog, webhooks }: Pick<CallerServices, 'payments' | 'transparencyLog' | 'webhooks'>,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all([payments.run(signal), webhooks.run(signal), transparencyLog?.run(signal)])
}

/** Who is erased is sent nothing any more from the answer on. */
function erasedWithWebhooks(
  accounts: Accounts,
  { server: { subscriptions } }: OpenedWebhooks,
  log: Logger,
): Accounts {
  return {
    ...accounts,
    async erase(accountId, origin) {
      await accounts.erase(accountId, origin)
      try {
        await subscriptions.removeErased(accountId)
      } catch (error) {
        // The account is erased whatever becomes of this, and the work in the background goes on with it.
        log.warn({ err: error, accountId }, 'webhooks of an erased account are removed later')
      }
    },
  }
}
