import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type CheckpointRow, logCheckpoints, NEWEST_CHECKPOINT, sealedDays } from '../../projections/index.ts'
import { createDaySealer } from '../analyst/index.ts'
import type { ServerOptions } from '../api/index.ts'
import { sleep } from '../platform/async/sleep.ts'
import type { Settings } from '../platform/config/settings.ts'
import {
  createCosigner,
  createLogViews,
  createSigner,
  createTreeReader,
  keepNewestCheckpoint,
  loadLogKeys,
  loadPolicy,
  transparencyTree,
} from '../proof/index.ts'
import type { Deps } from './open-deps.ts'
import type { Platform } from './open-platform.ts'
import { openLeases } from './shared-leases.ts'

/** The log that proves what was recorded, in this process. */
export interface OpenedTransparencyLog {
  readonly server: NonNullable<ServerOptions['transparencyLog']>
  /** Days as files. */
  readonly sealed: NonNullable<ServerOptions['sealed']>
  /** What keeps it from being signed at the moment. */
  problem(): string | undefined
  /** Signs where it is this process's turn, until the signal. */
  run(signal: AbortSignal): Promise<void>
}

/** Undefined where this process keeps no read models: it has no tree to sign or to show. */
export function openTransparencyLog(
  deps: Pick<Deps, 'settings' | 'platform' | 'projector' | 'log'> & { readonly marketNow: () => number },
): OpenedTransparencyLog | undefined {
  const { settings, platform, projector, log, marketNow } = deps
  if (projector === undefined) return undefined
  const { store, directory, newId } = platform
  const [treeRows, checkpointRows] = [projector.reader(transparencyTree), projector.reader(logCheckpoints)]
  const row = (key: string) => checkpointRows.get(key)
  const tree = createTreeReader((key) => treeRows.get(key))
  const views = createLogViews({ store, tree, row, marketNow })
  const signer = createSigner({
    store,
    tree,
    row,
    keys: loadLogKeys({ given: settings.LOG_KEYS, file: join(directory, 'log.keys'), random: randomBytes }),
    kept: keepNewestCheckpoint(settings.LOG_NEWEST ?? join(directory, 'newest-checkpoint')),
    firstOrigin: settings.LOG_ORIGIN ?? originOf(settings, platform),
    isShared: settings.EVENTSTORE_URL !== undefined,
    newId,
    now: Date.now,
    sleep,
    onProblem: (why) => log.warn({ why }, 'the transparency log is not signed'),
  })
  const cosigner =
    settings.LOG_POLICY === undefined
      ? undefined
      : createCosigner({
          policy: loadPolicy(settings.LOG_POLICY, { isAsked: true }),
          store,
          tree,
          row,
          fetch,
          newId,
          now: Date.now,
          marketNow,
          sleep,
          onProblem: (witness, why) => log.warn({ witness, why }, 'a witness does not cosign'),
        })
  const dayRows = projector.reader(sealedDays)
  const sealer = createDaySealer({
    store,
    rows: { get: (key) => dayRows.get(key), range: (options) => dayRows.range(options) },
    directory: join(directory, 'sealed'),
    market: settings.MARKET,
    marketNow,
    checkpoint() {
      const newest = row(NEWEST_CHECKPOINT) as CheckpointRow | undefined
      return newest === undefined ? null : { origin: newest.origin, size: newest.size, root: newest.root }
    },
    newId,
    now: Date.now,
    sleep,
    onProblem: (error) => log.warn({ err: error }, 'a day cannot be sealed'),
  })
  const leases = openLeases({ settings, platform, group: 'log', shards: 1, log })
  let signing: { readonly ending: AbortController; readonly done: Promise<void> } | undefined
  const workOn = async (signal: AbortSignal): Promise<void> =>
    void (await Promise.all([signer.run(signal), cosigner?.run(signal), sealer.run(signal)]))

  return {
    server: { ...views, openOrigin: (origin, reason) => signer.openOrigin(origin, reason) },
    sealed: sealer,
    problem: () => signer.problem(),
    async run(signal) {
      // What is read before it is caught up is short of what was signed, and would be taken for a log set back.
      await Promise.race([projector.caughtUp(), ended(signal)])
      await Promise.all([
        signer.follow(signal),
        settings.ROLES.includes('projector')
          ? leases.run(
              {
                gained: async () => {
                  const ending = new AbortController()
                  signing = { ending, done: workOn(AbortSignal.any([signal, ending.signal])) }
                },
                lost: async () => {
                  signing?.ending.abort()
                  await signing?.done
                },
              },
              signal,
            )
          : undefined,
      ])
    },
  }
}

function originOf({ PUBLIC_URL }: Settings, { logId }: Platform): string {
  return PUBLIC_URL === undefined ? `signal-service/${logId}` : `${new URL(PUBLIC_URL).host}/log`
}

const ended = (signal: AbortSignal): Promise<void> =>
  signal.aborted
    ? Promise.resolve()
    : new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
