import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { assert } from '../../../contracts/errors/assert.ts'
import {
  type CheckpointRow,
  logCheckpoints,
  NEWEST_CHECKPOINT,
  sealedDays,
} from '../../../projections/index.ts'
import { DaySealer } from '../../analyst/index.ts'
import { type Component, optionalComponent } from '../../http/routes/health.ts'
import type { Projector } from '../../log/projector/projector.ts'
import {
  createCheckpointSigner,
  createLogViews,
  createTreeReader,
  loadLogKeys,
  NewestCheckpoint,
  transparencyTree,
} from '../../proof/index.ts'
import { openLeases } from '../adapters/open-leases.ts'
import type { SharedParts } from '../shared-parts.ts'

type Parts = SharedParts & { readonly projector: Projector }

/** The log that proves what was recorded, in a process that keeps read models. */
export function openTransparencyLog(parts: Parts) {
  const { settings, platform, projector, log, marketNow } = parts
  const { directory, logId, basics } = platform
  const [treeRows, checkpoints] = [projector.reader(transparencyTree), projector.reader(logCheckpoints)]
  const common = {
    ...basics,
    tree: createTreeReader((key) => treeRows.get(key)),
    row: (key: string) => checkpoints.get(key),
    marketNow,
  }
  const url = settings.PUBLIC_URL
  const signer = createCheckpointSigner({
    ...common,
    keys: loadLogKeys({ given: settings.LOG_KEYS, file: join(directory, 'log.keys'), random: randomBytes }),
    kept: new NewestCheckpoint(settings.LOG_NEWEST ?? join(directory, 'newest-checkpoint')),
    origin: settings.LOG_ORIGIN,
    firstOrigin: url === undefined ? `signal-service/${logId}` : `${new URL(url).host}/log`,
    isShared: settings.EVENTSTORE_URL !== undefined,
    onProblem: (why) => log.warn({ why }, 'the transparency log is not signed'),
  })
  const sealer = openSealer(parts, () => checkpoints.get(NEWEST_CHECKPOINT) as CheckpointRow | undefined)
  const leases = openLeases(parts, 'log', 1)

  /** Signs while this process holds the lease. */
  function signInTurn(signal: AbortSignal): Promise<void> {
    let signing: { readonly ending: AbortController; readonly done: Promise<unknown> } | undefined
    return leases.run(
      {
        gained: async () => {
          assert(signing === undefined, 'a process signs its log once at a time')
          const ending = new AbortController()
          const until = AbortSignal.any([signal, ending.signal])
          signing = { ending, done: Promise.all([signer.run(until), sealer.run(until)]) }
        },
        lost: async () => {
          signing?.ending.abort()
          await signing?.done
          signing = undefined
        },
      },
      signal,
    )
  }

  return {
    server: createLogViews(common),
    sealed: sealer,
    /** Verdicts are served and recorded without it; until they are signed nobody can prove them. */
    health: (): Component[] => [
      optionalComponent('transparency log', signer.problem(), 'signed as it grows'),
    ],
    /** Signs where it is this process's turn, until the signal. */
    async run(signal: AbortSignal): Promise<void> {
      // Read models that have not caught up lack signed entries, as a log that was set back does.
      await projector.caughtUp(signal)
      const isSigner = settings.ROLES.includes('projector')
      await Promise.all([signer.follow(signal), isSigner ? signInTurn(signal) : undefined])
    },
  }
}

function openSealer(
  { settings, platform, projector, log, marketNow }: Parts,
  newest: () => CheckpointRow | undefined,
) {
  const days = projector.reader(sealedDays)
  return new DaySealer({
    ...platform.basics,
    rows: { get: (key) => days.get(key), range: (options) => days.range(options) },
    directory: join(platform.directory, 'sealed'),
    market: settings.MARKET,
    marketNow,
    checkpoint() {
      const { origin, size, root } = newest() ?? {}
      return origin === undefined || size === undefined || root === undefined ? null : { origin, size, root }
    },
    onProblem: (error) => log.warn({ err: error }, 'a day cannot be sealed'),
  })
}
