import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { decodeEvent, LOG_RELEASE, LogBegun } from '../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { STORE_IDENTITY_STREAM } from '../../../contracts/events/streams.ts'
import type { NewEvent } from '../../../contracts/infra/event.ts'
import { appendFacts, verdictRecorded } from '../../../projections/given-events.fixture.ts'
import { logCheckpoints } from '../../../projections/index.ts'
import { type Rows, rowsInMemory } from '../../../projections/projection.ts'
import { appendNext } from '../../../testing/append-next.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../../log/event-store.ts'
import { uuidV8 } from '../../runtime/ids/uuid.ts'
import { createLogViews } from '../log-views.ts'
import { parseVkey } from '../note.ts'
import { loadLogKeys, NewestCheckpoint } from '../signing/keys.ts'
import { createCheckpointSigner } from '../signing/signer.ts'
import { ENTRY_TYPES } from '../tree/entry.ts'
import { createTreeReader, type TreeRow, transparencyTree } from '../tree/tree-reader.ts'

let made = 0
export const nextId = (): string => uuidV8(Buffer.from((++made).toString(16).padStart(32, '0'), 'hex'))

const opened: { remove(): void }[] = []
/** Removes what the logs of a test kept; for its `afterEach`. */
export const removeMadeUpLogs = (): void => {
  for (const log of opened.splice(0)) log.remove()
}

export const NOW = Date.UTC(2026, 0, 1)

/** A log that signs itself, as a service does, with what is kept beside it in a folder; in memory where no store is given. */
export async function openMadeUpLog(
  options: {
    readonly directory?: string
    readonly marketNow?: () => number
    readonly store?: EventStore
    readonly market?: 'live' | 'simulated'
    readonly origin?: string
  } = {},
) {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), 'log-'))
  const store = options.store ?? openMemoryStore({ now: () => NOW })
  const [treeRows, checkpointRows] = [
    rowsInMemory<TreeRow>(),
    rowsInMemory<Parameters<typeof logCheckpoints.fold>[0] extends Rows<infer Row> ? Row : never>(),
  ]
  const tree = createTreeReader((key) => treeRows.get(key))
  const keys = loadLogKeys({
    given: undefined,
    file: join(directory, 'log.keys'),
    random: (bytes) => new Uint8Array(bytes).fill(++made),
  })
  const signer = createCheckpointSigner({
    store,
    tree,
    row: (key) => checkpointRows.get(key),
    keys,
    kept: new NewestCheckpoint(join(directory, 'newest-checkpoint')),
    origin: options.origin,
    firstOrigin: 'signals.example.com/log',
    isShared: false,
    newId: nextId,
    now: () => NOW,
    sleep: async () => undefined,
    onProblem: () => undefined,
  })
  let folded = 'start'
  async function catchUp(): Promise<void> {
    for await (const event of store.readAll({ after: folded })) {
      if ((ENTRY_TYPES as readonly string[]).includes(event.type)) transparencyTree.fold(treeRows, event)
      logCheckpoints.fold(checkpointRows, decodeEvent(event))
      folded = event.position
    }
  }
  const log = {
    directory,
    store,
    tree,
    row: (key: string) => checkpointRows.get(key),
    catchUp,
    signer,
    views: createLogViews({
      store,
      tree,
      row: (key) => checkpointRows.get(key),
      marketNow: options.marketNow ?? (() => NOW),
    }),
    async append(stream: string, events: readonly NewEvent[]): Promise<void> {
      await appendNext(store, stream, events)
    },
    /**
     * Records verdicts, each so many hours before now; the window is eight hours long.
     *
     * @returns their ids
     */
    async record(...hours: readonly number[]): Promise<string[]> {
      const ids = hours.map(() => nextId())
      for (const [index, hour] of hours.entries()) {
        const barClose = NOW - hour * HOUR_MS
        const change = { verdictId: ids[index] ?? '', barClose, validUntil: barClose + 8 * HOUR_MS }
        await appendFacts(store, verdictRecorded(change))
      }
      return ids
    },
    keys: () =>
      log.views
        .vkeys()
        .trim()
        .split('\n')
        .flatMap((line) => parseVkey(line) ?? []),
    /** Folds and signs until there is nothing left to sign; answers what keeps it from that. */
    async sign(): Promise<string | undefined> {
      // Keys first, then the checkpoint that holds them.
      for (let rounds = 0; rounds < 3; rounds++) {
        await catchUp()
        await signer.signNewest()
      }
      await catchUp()
      return signer.problem()
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  }
  if ((await store.head()) !== 'start') {
    opened.push(log)
    return log
  }
  await log.append(STORE_IDENTITY_STREAM, [
    newEvent(LogBegun, {
      id: nextId(),
      data: {
        release: LOG_RELEASE,
        market: options.market ?? 'live',
        seed: null,
        secretFingerprint: '4f'.repeat(32),
      },
      meta: { correlationId: 'test', actor: 'start' },
    }),
  ])
  opened.push(log)
  return log
}

export type MadeUpLog = Awaited<ReturnType<typeof openMadeUpLog>>
