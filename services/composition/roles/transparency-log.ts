import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { JsonObject } from '../../../contracts/json.ts'
import { MINUTE_MS } from '../../../contracts/timeframes.ts'
import {
  type CheckpointRow,
  logCheckpoints,
  NEWEST_CHECKPOINT,
  PROMISED_PREFIX,
  sealedDays,
} from '../../../projections/index.ts'
import { createDaySealer } from '../../analyst/index.ts'
import type { Settler } from '../../payments/index.ts'
import {
  createAnchorer,
  createCosigner,
  createLogViews,
  createSigner,
  createTimestamper,
  createTreeReader,
  keepNewestCheckpoint,
  loadLogKeys,
  loadPolicy,
  transparencyTree,
} from '../../proof/index.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { Settings } from '../../runtime/config/settings.ts'
import type { Platform } from '../adapters/open-platform.ts'
import { openLeases } from '../adapters/shared-leases.ts'
import type { Deps } from '../open-deps.ts'
import type { ServerOptions } from '../server.ts'

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
  deps: Pick<Deps, 'settings' | 'platform' | 'projector' | 'log'> & {
    readonly marketNow: () => number
    /** Undefined while this process does not settle. */
    readonly writer: () => Settler['write']
  },
): OpenedTransparencyLog | undefined {
  const { settings, platform, projector, log, marketNow } = deps
  if (projector === undefined) return undefined
  const { store, directory, newId } = platform
  const [treeRows, checkpointRows] = [projector.reader(transparencyTree), projector.reader(logCheckpoints)]
  const row = (key: string) => checkpointRows.get(key)
  const tree = createTreeReader((key) => treeRows.get(key))
  const views = createLogViews({
    store,
    tree,
    row,
    rows: (range) => checkpointRows.range(range),
    marketNow,
  })
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
  const [anchorer, timestamper] = openAnchors(deps, {
    tree,
    row,
    promised: (limit) => checkpointRows.range({ prefix: PROMISED_PREFIX, limit }),
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
    void (await Promise.all([
      signer.run(signal),
      cosigner?.run(signal),
      timestamper?.run(signal),
      sealer.run(signal),
    ]))

  return {
    server: { ...views, openOrigin: (origin, reason) => signer.openOrigin(origin, reason) },
    sealed: sealer,
    problem: () => signer.problem(),
    async run(signal) {
      // What is read before it is caught up is short of what was signed, and would be taken for a log set back.
      await Promise.race([projector.caughtUp(), ended(signal)])
      await Promise.all([
        signer.follow(signal),
        // Whoever settles has the wallet, whoever signs.
        anchorer?.run(signal),
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

/** What puts checkpoints elsewhere, as the settings say. */
function openAnchors(
  { settings, platform, log, marketNow, writer }: Parameters<typeof openTransparencyLog>[0],
  read: {
    readonly tree: ReturnType<typeof createTreeReader>
    readonly row: (key: string) => JsonObject | undefined
    readonly promised: (limit: number) => readonly { readonly row: JsonObject }[]
  },
) {
  const { LOG_ANCHOR_MINUTES: minutes, LOG_CALENDARS: calendars, LOG_POLICY: policy } = settings
  const { store, newId } = platform
  const common = { store, newId, now: Date.now, sleep }
  const anchorer =
    minutes === undefined
      ? undefined
      : createAnchorer({
          ...common,
          ...read,
          writer,
          marketNow,
          isCosigned: policy !== undefined,
          everyMs: minutes * MINUTE_MS,
          onProblem: (why) => log.warn({ why }, 'a checkpoint is not put on the chain'),
        })
  const timestamper =
    calendars === undefined
      ? undefined
      : createTimestamper({
          ...common,
          calendars,
          fetch,
          row: read.row,
          promised: read.promised,
          onProblem: (calendar, why) => log.warn({ calendar, why }, 'a calendar does not stamp'),
        })
  return [anchorer, timestamper] as const
}

function originOf({ PUBLIC_URL }: Settings, { logId }: Platform): string {
  return PUBLIC_URL === undefined ? `signal-service/${logId}` : `${new URL(PUBLIC_URL).host}/log`
}

const ended = (signal: AbortSignal): Promise<void> =>
  signal.aborted
    ? Promise.resolve()
    : new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
