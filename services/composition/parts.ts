import { assert } from '../../contracts/assert.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { seriesName } from '../../contracts/series.ts'
import { latestVerdicts } from '../../projections/index.ts'
import type { Accounts } from '../accounts/index.ts'
import { type ReplaySource, ReplayWorker, replaysOnThisThread } from '../analyst/index.ts'
import {
  createRemoteToolHandler,
  type NewestVerdicts,
  type RemoteToolHandler,
  recordedUniverse,
  type ToolHandler,
} from '../engine/index.ts'
import { logFile } from '../log/embedded/embedded-store.ts'
import { PROCESS_TIME } from '../runtime/admission/line.ts'
import { createTurns } from '../runtime/admission/turns.ts'
import { sleep } from '../runtime/async/sleep.ts'
import type { Deps } from './deps.ts'
import { openCallers } from './roles/callers.ts'
import { createEngineRole } from './roles/engine-role.ts'
import { openDocumentation } from './roles/knowledge.ts'
import { withVerdictStreams } from './roles/newest-verdicts.ts'
import { openPayments } from './roles/payments.ts'
import { openTransparencyLog } from './roles/transparency-log.ts'
import { openWatchList, type WatchList } from './roles/watch-list.ts'
import { type OpenedWebhooks, openWebhooks } from './roles/webhooks.ts'

/** The shared parts of a process, and those of each of its roles. */
export type Parts = Awaited<ReturnType<typeof openParts>>

/** Opens every role of this process, each over those before it; none begins to work yet. */
export async function openParts(deps: Deps) {
  const { settings, projector, running } = deps
  const watchList = settings.ROLES.includes('engine') ? await watchListOf(deps) : undefined
  const engine = watchList && createEngineRole({ ...deps, watchList })
  assert((engine !== undefined) === settings.ROLES.includes('engine'), 'an engine runs where its role is')
  if (engine !== undefined) running.engine = engine
  const remote = openRemoteToolHandler(deps)
  const toolHandler: ToolHandler = engine?.toolHandler ?? remote
  const callers = openCallers({ ...deps, toolHandler, watchList })
  const callerDeps = { ...deps, ...callers, toolHandler, watchList }
  const knowledge = await openDocumentation(callerDeps)
  const payments = await openPayments(callerDeps)
  running.payments = payments
  const webhooks = openWebhooks(callerDeps)
  running.webhooks = webhooks
  return {
    ...deps,
    ...callers,
    accounts: erasedWithWebhooks(callers.accounts, webhooks, deps),
    watchList,
    engine,
    remote,
    toolHandler,
    knowledge,
    payments,
    webhooks,
    transparencyLog: projector && openTransparencyLog({ ...deps, projector }),
    replay: openReplays(deps),
  }
}

/** Settles, sends, signs and listens for engines, where this process does, until it ends; and keeps it small. */
export async function runParts({
  engine,
  remote,
  payments,
  webhooks,
  transparencyLog,
  signal,
}: Parts): Promise<void> {
  await Promise.all([
    payments.run(signal),
    webhooks.run(signal),
    transparencyLog?.run(signal),
    engine === undefined ? remote.run(signal) : undefined,
  ])
}

const watchListOf = ({ feed, settings, log }: Deps): Promise<WatchList> =>
  openWatchList(feed, settings, sleep, {
    lacking: (exchange, coins) =>
      log.warn(
        { exchange, coins, others: coins.flatMap((coin) => feed.whyNoCoin?.({ exchange, coin }) ?? []) },
        'COINS that the venue does not list, or not among its largest',
      ),
    left: (exchange, coins) =>
      log.info({ exchange, coins }, 'coins that are not chosen any more, and are followed on for now'),
  })

/** The tool handler of a process without the engine role. */
function openRemoteToolHandler({
  settings,
  platform,
  projector,
  feed,
  speech,
  log,
  publicUrl,
}: Deps): RemoteToolHandler {
  const newest: NewestVerdicts | undefined =
    // Only the process that replays a recorded market knows its time.
    projector === undefined || feed.kind === 'recorded'
      ? undefined
      : {
          verdict: (series) => projector.reader(latestVerdicts).get(seriesName(series))?.verdict,
          universe: (exchange) => recordedUniverse(platform.store, exchange),
          clock: () => feed.clock(),
          model: speech.model,
          withdrawn: (timeframe) => speech.withdrawn(timeframe, feed.clock()),
        }
  return createRemoteToolHandler({
    bus: platform.bus,
    newest,
    defaultExchange: settings.MARKET === 'simulated' ? 'SIM' : settings.EXCHANGES?.[0],
    publicUrl,
    elapsed: () => performance.now(),
    sleep,
    report: (error) => log.warn({ err: error }, 'no engine answered'),
  })
}

/** Accounts whose webhooks are removed with them: nothing is sent once the erasure is answered. */
const erasedWithWebhooks = (
  accounts: Accounts,
  { server: { subscriptions } }: OpenedWebhooks,
  { log }: Deps,
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

/**
 * Replays of the log: on a thread of their own where the log is a file of this machine, else in turns with what else
 * this thread does, since the connection to the server is its own.
 */
function openReplays({ settings, platform: { store, directory }, projector, onClose }: Deps): ReplaySource {
  if (settings.EVENTSTORE_URL !== undefined) {
    // Between two turns calls have the thread for as long as the turn took, so that they have half of it at least.
    const turns = createTurns({ turnMs: LIMITS.sharedTurnMs, restMs: Math.ceil, time: PROCESS_TIME })
    return replaysOnThisThread(withVerdictStreams(store, projector), turns)
  }
  const worker = new ReplayWorker({ file: logFile(directory) })
  onClose(() => worker.close())
  return worker.replay
}
