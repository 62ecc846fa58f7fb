import { LIMITS } from '../../contracts/limits.ts'
import type { Accounts } from '../accounts/index.ts'
import { type ReplaySource, ReplayWorker, replaysOnThisThread } from '../analyst/index.ts'
import { logFile } from '../log/embedded/embedded-store.ts'
import { PROCESS_TIME } from '../runtime/admission/line.ts'
import { createTurns } from '../runtime/admission/turns.ts'
import { registerGauges } from './metrics/gauges.ts'
import { openCallers } from './roles/callers.ts'
import { createEngineRole } from './roles/engine-role.ts'
import { openDocumentation } from './roles/knowledge.ts'
import { withVerdictStreams } from './roles/newest-verdicts.ts'
import { openPayments } from './roles/payments.ts'
import { openRemoteEngines } from './roles/remote-engines.ts'
import { openTransparencyLog } from './roles/transparency-log.ts'
import { type OpenedWebhooks, openWebhooks } from './roles/webhooks.ts'
import { openShared, type SharedParts } from './shared-parts.ts'
import type { Start } from './shutdown.ts'

/** Every part of a process that its roles need. */
export type Process = Awaited<ReturnType<typeof openProcess>>

/** Opens every part of a process, each over those before it; none begins to work yet. */
export async function openProcess(start: Start, output: NodeJS.WriteStream) {
  const { shutdown } = start
  const shared = await openShared(start, output)
  const { watchList, projector, registry } = shared
  const engine = watchList && createEngineRole({ ...shared, watchList, signal: shutdown.drainSignal })
  const remote = openRemoteEngines(shared)
  const toolHandler = engine?.toolHandler ?? remote
  const callers = openCallers({ ...shared, toolHandler })
  const callerParts = { ...shared, ...callers, toolHandler }
  const knowledge = await openDocumentation(callerParts)
  const payments = await openPayments(callerParts)
  const webhooks = openWebhooks(callerParts)
  const transparencyLog = projector && openTransparencyLog({ ...shared, projector })
  registerGauges(registry, { ...shared, engine, payments, webhooks })
  return {
    ...callerParts,
    accounts: erasedWithWebhooks(callers.accounts, webhooks, start),
    engine,
    remote,
    knowledge,
    payments,
    webhooks,
    transparencyLog,
    replay: openReplays(shared),
    /** Milliseconds, on a clock that is never set. */
    openedAt: performance.now(),
    /** Settles, sends and signs, where this process does, until it drains. */
    async run(): Promise<void> {
      const { drainSignal } = shutdown
      const parts = [payments, webhooks, transparencyLog]
      await Promise.all(parts.flatMap((part) => part?.run(drainSignal) ?? []))
    },
  }
}

/** Accounts whose webhooks are removed with them: nothing is sent once the erasure is answered. */
const erasedWithWebhooks = (
  accounts: Accounts,
  { server: { subscriptions } }: OpenedWebhooks,
  { log }: Start,
): Accounts => ({
  ...accounts,
  async erase(accountId, origin) {
    await accounts.erase(accountId, origin)
    try {
      await subscriptions.removeErased(accountId)
    } catch (error) {
      // The account is erased in any case, and the work in the background goes on with it.
      log.warn({ err: error, accountId }, 'webhooks of an erased account are removed later')
    }
  },
})

/** Replays of the log: on a thread of their own over a file of this machine, else in time slices of this thread. */
function openReplays({ settings, platform, projector, shutdown }: SharedParts): ReplaySource {
  const { store, directory } = platform
  if (settings.EVENTSTORE_URL !== undefined) {
    // Between two slices calls have the thread for as long as the slice took, so that they have half of it at least.
    const turns = createTurns({ turnMs: LIMITS.sharedTurnMs, restMs: Math.ceil, time: PROCESS_TIME })
    return replaysOnThisThread(withVerdictStreams(store, projector), turns)
  }
  const worker = new ReplayWorker({ file: logFile(directory) })
  shutdown.onClose(() => worker.close())
  return worker.replay
}
