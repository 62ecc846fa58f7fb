import { isServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { START } from '../../../contracts/position.ts'
import type { Lease } from '../../log/leases/leases.ts'
import { createWakeSignal, waitAtMost } from '../../runtime/async/wake-signal.ts'
import type { Bus } from '../../runtime/bus/bus.ts'
import { DispatchEngine } from './dispatch-engine.ts'
import type { Dispatcher, DispatcherHealth, DispatcherOptions } from './dispatcher-options.ts'
import { shardOf } from './endpoint-registry.ts'
import { SIGNALS_SUBJECT } from './signal-relay.ts'

/** Interval between readings of the log that no notification asked for; a lost one costs at most this much. */
const HEAL_MS = 1_000
/** How soon a process that cannot begin tries again. */
const BEGIN_AGAIN_MS = 1_000

/**
 * Sends the signals of the log to those who subscribed them, at least once each, with the same id and the same bytes
 * every time. The bus only wakes it: the log says what is to be sent, and the delivery logs what was.
 *
 * @example
 * const dispatcher = createDispatcher({ store, bus, leases, shards: 16, directory, deliveries, sender, sign, … })
 * const running = dispatcher.run(signal)
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { bus, leases, shards, sleep, report } = options
  const elapsed = options.elapsed ?? (() => performance.now())
  let engine: DispatchEngine | undefined

  /** Reads the log once for all notifications that came in the meantime. */
  async function followBus(working: DispatchEngine, signal: AbortSignal): Promise<void> {
    const wake = createWakeSignal()
    bus.listen(SIGNALS_SUBJECT, () => wake.notify(), { signal })
    for (let seen = 0; ; ) {
      await wake.wait(seen, signal)
      if (signal.aborted) return
      seen = wake.count
      await working.look()
    }
  }

  async function followClock(working: DispatchEngine, signal: AbortSignal): Promise<void> {
    for (let lookedAt = Number.NEGATIVE_INFINITY; !signal.aborted; ) {
      working.doDue()
      if (elapsed() - lookedAt >= HEAL_MS) {
        lookedAt = elapsed()
        // Not waited for: a long way through the log must not keep what comes due meanwhile.
        void working.look()
        await working.tend().catch(report)
      }
      const seen = working.sooner.count
      const lookInMs = lookedAt + HEAL_MS - elapsed()
      const dueInMs = working.nextDueInMs ?? Number.POSITIVE_INFINITY
      await waitAtMost(Math.max(1, Math.min(lookInMs, dueInMs)), working.sooner, seen, { sleep, signal })
    }
  }

  return {
    async run(signal) {
      engine = await begin(options, signal)
      if (engine === undefined) return
      const working = engine
      const serving = new Map<number, AbortController>()
      const work = {
        gained: async (lease: Lease) => {
          const until = new AbortController()
          serving.set(lease.shard, until)
          serveSync(bus, lease.shard, working.sync, AbortSignal.any([until.signal, signal]))
          await working.gained(lease)
        },
        lost: async (lease: Lease) => {
          serving.get(lease.shard)?.abort()
          await working.lost(lease)
        },
      }
      await Promise.all([
        leases.run(work, signal),
        followBus(working, signal).catch(report),
        followClock(working, signal),
      ])
      await working.drained()
    },
    async sync(subscriptionId) {
      if (engine?.holdsShardOf(subscriptionId) === true) {
        await engine.sync(subscriptionId)
        return true
      }
      return askToSync(bus, shardOf(subscriptionId, shards), subscriptionId)
    },
    health: () => engine?.health() ?? NOT_BEGUN,
  }
}

/** An engine at the end of the log, once the store says where that is. */
async function begin(options: DispatcherOptions, signal: AbortSignal): Promise<DispatchEngine | undefined> {
  while (!signal.aborted) {
    try {
      return new DispatchEngine(options, await options.store.head(), signal)
    } catch (error) {
      options.report(error)
      await options.sleep(BEGIN_AGAIN_MS, signal)
    }
  }
  return undefined
}

const NOT_BEGUN: DispatcherHealth = {
  shards: [],
  position: START,
  attemptsUnderWay: 0,
  problem: 'not begun',
  behindMs: 0,
  longBehind: 0,
  strays: 0,
  unattended: 0,
  unattendedMs: 0,
}

/** Requests about the subscriptions of a shard, answered by the process that has it. */
const subjectOf = (shard: number): string => `webhooks.refresh.${shard}`

/**
 * Asks the process that sends for a subscription to look at its stream before it begins anything more.
 *
 * @returns whether it has; false where nobody answered in time
 */
async function askToSync(bus: Bus, shard: number, subscriptionId: string): Promise<boolean> {
  try {
    const timeoutMs = LIMITS.webhookForgetMs
    return (await bus.request(subjectOf(shard), { subscriptionId }, { timeoutMs })) === true
  } catch (error) {
    if (isServiceError(error)) return false
    throw error
  }
}

/** Answers such requests for a shard, for as long as this process has it. */
function serveSync(
  bus: Bus,
  shard: number,
  sync: (subscriptionId: string) => Promise<void>,
  signal: AbortSignal,
): void {
  bus.serve(
    subjectOf(shard),
    async (body) => {
      const isAsked = typeof body === 'object' && body !== null && 'subscriptionId' in body
      if (!isAsked || typeof body.subscriptionId !== 'string') return false
      await sync(body.subscriptionId)
      return true
    },
    { signal },
  )
}
