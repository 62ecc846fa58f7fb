import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { assert } from '../../../contracts/assert.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import {
  type CheckpointRow,
  logCheckpoints,
  NEWEST_CHECKPOINT,
  sealedDays,
} from '../../../projections/index.ts'
import { DaySealer } from '../../analyst/index.ts'
import type { Projector } from '../../log/projector/projector.ts'
import {
  CheckpointSigner,
  createLogViews,
  createTreeReader,
  loadLogKeys,
  NewestCheckpoint,
  transparencyTree,
} from '../../proof/index.ts'
import type { Settings } from '../../runtime/config/settings.ts'
import type { Platform } from '../adapters/open-platform.ts'
import { openLeases } from '../adapters/shared-leases.ts'
import type { Deps } from '../deps.ts'

/** The log that proves what was recorded, in a process that keeps read models. */
export type OpenedTransparencyLog = ReturnType<typeof openTransparencyLog>

type LogDeps = Deps & { readonly projector: Projector }

export function openTransparencyLog(deps: LogDeps) {
  const { settings, platform, projector, log, marketNow } = deps
  const [treeRows, checkpoints] = [projector.reader(transparencyTree), projector.reader(logCheckpoints)]
  const tree = createTreeReader((key) => treeRows.get(key))
  const row = (key: string) => checkpoints.get(key)
  const common = { ...platform.basics, tree, row, marketNow }
  const views = createLogViews(common)
  const signer = new CheckpointSigner({
    ...common,
    keys: loadLogKeys({
      given: settings.LOG_KEYS,
      file: join(platform.directory, 'log.keys'),
      random: randomBytes,
    }),
    kept: new NewestCheckpoint(settings.LOG_NEWEST ?? join(platform.directory, 'newest-checkpoint')),
    origin: settings.LOG_ORIGIN,
    firstOrigin: originOf(settings, platform),
    isShared: settings.EVENTSTORE_URL !== undefined,
    onProblem: (why) => log.warn({ why }, 'the transparency log is not signed'),
  })
  const sealer = openSealer(deps, row)
  const leases = openLeases(deps, 'log', 1)
  let signing: { readonly ending: AbortController; readonly done: Promise<void> } | undefined
  const workOn = async (signal: AbortSignal): Promise<void> =>
    void (await Promise.all([signer.run(signal), sealer.run(signal)]))

  /** Signs while this process holds the lease. */
  const signInTurn = (signal: AbortSignal): Promise<void> =>
    leases.run(
      {
        gained: async () => {
          assert(signing === undefined, 'a process signs its log once at a time')
          const ending = new AbortController()
          signing = { ending, done: workOn(AbortSignal.any([signal, ending.signal])) }
        },
        lost: async () => {
          signing?.ending.abort()
          await signing?.done
          signing = undefined
        },
      },
      signal,
    )

  return {
    server: views,
    /** Days as files. */
    sealed: sealer,
    /** The reason why it is not signed at the moment. */
    problem: () => signer.problem(),
    /** Signs where it is this process's turn, until the signal. */
    async run(signal: AbortSignal): Promise<void> {
      // Read models that have not caught up lack signed entries, as a log that was set back does.
      await projector.caughtUp(signal)
      await Promise.all([
        signer.follow(signal),
        settings.ROLES.includes('projector') ? signInTurn(signal) : undefined,
      ])
    },
  }
}

function openSealer({ settings, platform, projector, log, marketNow }: LogDeps, row: Row) {
  const days = projector.reader(sealedDays)
  return new DaySealer({
    ...platform.basics,
    rows: { get: (key) => days.get(key), range: (options) => days.range(options) },
    directory: join(platform.directory, 'sealed'),
    market: settings.MARKET,
    marketNow,
    checkpoint() {
      const newest = row(NEWEST_CHECKPOINT) as CheckpointRow | undefined
      return newest === undefined ? null : { origin: newest.origin, size: newest.size, root: newest.root }
    },
    onProblem: (error) => log.warn({ err: error }, 'a day cannot be sealed'),
  })
}

type Row = (key: string) => JsonObject | undefined

function originOf({ PUBLIC_URL }: Settings, { logId }: Platform): string {
  return PUBLIC_URL === undefined ? `signal-service/${logId}` : `${new URL(PUBLIC_URL).host}/log`
}
