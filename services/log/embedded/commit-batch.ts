import type { DatabaseSync } from 'node:sqlite'
import { assert } from '../../../contracts/assert.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { type AppendRefusal, decideAppend, type LogView, type StoredEvent } from '../decide-append.ts'
import type { EncodedAppend } from '../validate-append.ts'
import { isStreamErased } from './erase-stream.ts'
import type { NewestEvent } from './newest-position.ts'
import { EVENTS, type SummedRow, sound, sumOf } from './row-sum.ts'
import { INSERT_EVENT } from './schema.ts'
import { refusalOf } from './sqlite-refusal.ts'

/**
 * How one append of a batch ended, in a form that crosses the thread boundary cheaply; `at` is left out where it had been
 * appended before.
 */
export type AppendOutcome =
  | { readonly revision: number; readonly position: number; readonly at?: string }
  | AppendRefusal

export type BatchCommitter = ReturnType<typeof createBatchCommitter>

/** Streams whose head is remembered between batches; a miss costs one index look-up. */
const REMEMBERED_HEADS = 65_536

/** @param durable is given the newest event after each commit that appended some */
export function createBatchCommitter(db: DatabaseSync, durable: (newest: NewestEvent) => void) {
  const statements = prepareStatements(db)
  const heads = new RecentMap<string, number>(REMEMBERED_HEADS)
  let position = statements.lastPosition()
  let newestAt = statements.lastAt()
  let newestId: string | undefined

  const view: LogView = {
    findById: (id) => statements.findById(id),
    headOf(stream) {
      const known = heads.get(stream)
      if (known !== undefined) return known
      const head = statements.headOf(stream)
      heads.set(stream, head)
      return head
    },
    isErased: (stream) => isStreamErased(db, stream),
  }

  function appendOne(append: EncodedAppend, at: string): AppendOutcome {
    const decision = decideAppend(append, view)
    if (decision.kind === 'refuse') return decision.refusal
    if (decision.kind === 'replay') {
      return { revision: decision.revision, position: Number(decision.position) }
    }
    let revision = decision.firstRevision - 1
    assert(
      revision >= -1 && revision === view.headOf(append.stream),
      'an append follows the head of its stream',
      revision,
    )
    for (const event of append.events) {
      revision += 1
      position += 1
      newestId = event.id
      statements.insert(position, append.stream, revision, event, at)
    }
    heads.set(append.stream, revision)
    return { revision, position, at }
  }

  return {
    /**
     * Appends every request of a batch in one transaction; what is refused is refused alone. Returns after
     * the commit is on the disk. A failing transaction gives every request of the batch the same refusal.
     */
    commit(batch: readonly EncodedAppend[], at: string): AppendOutcome[] {
      let isCommitting = false
      newestId = undefined
      try {
        statements.begin.run()
        // A clock that steps back must not put an event before its predecessor in time.
        newestAt = at > newestAt ? at : newestAt
        assert(statements.lastPosition() === position, 'one process appends to the log', position)
        const outcomes = batch.map((append) => appendOne(append, newestAt))
        isCommitting = true
        statements.commit.run()
        if (newestId !== undefined) durable({ position, id: newestId })
        return outcomes
      } catch (error) {
        // What is remembered may be of the transaction that is now undone.
        heads.clear()
        const isUndone = undo(db)
        position = statements.lastPosition()
        const refusal = refusalOf(error, isCommitting && !isUndone)
        return batch.map(() => refusal)
      }
    },
  }
}

/** Whether there was still a transaction to undo; SQLite ends some of them by itself. */
function undo(db: DatabaseSync): boolean {
  if (!db.isTransaction) return false
  db.exec('ROLLBACK')
  return true
}

function prepareStatements(db: DatabaseSync) {
  const insert = db.prepare(INSERT_EVENT)
  const byId = db.prepare(`${EVENTS} WHERE id = ?`)
  byId.setReturnArrays(true)
  const head = db.prepare('SELECT max(revision) AS revision FROM event WHERE stream = ?')
  const newest = db.prepare('SELECT at FROM event ORDER BY position DESC LIMIT 1')
  const last = db.prepare('SELECT max(position) AS position FROM event')
  return {
    begin: db.prepare('BEGIN IMMEDIATE'),
    commit: db.prepare('COMMIT'),
    insert(
      position: number,
      stream: string,
      revision: number,
      event: EncodedAppend['events'][number],
      at: string,
    ): void {
      const { type, schema, id, meta } = event
      // The text becomes bytes once, for the file and for the checksum.
      const data = Buffer.from(event.data)
      const sum = sumOf([position, stream, revision, type, schema, id, at, '', meta], data)
      insert.run(position, stream, revision, type, schema, id, at, data, meta, sum)
    },
    findById(id: string): StoredEvent | undefined {
      const found = byId.get(id) as unknown as SummedRow | undefined
      if (found === undefined) return undefined
      const [position, stream, revision, type, schema, , , data] = sound(found)
      return { stream, revision, position: String(position), type, schema, data }
    },
    headOf: (stream: string): number => (head.get(stream) as { revision: number | null }).revision ?? -1,
    lastAt: (): string => (newest.get() as { at: string } | undefined)?.at ?? '',
    lastPosition: (): number => (last.get() as { position: number | null }).position ?? 0,
  }
}
