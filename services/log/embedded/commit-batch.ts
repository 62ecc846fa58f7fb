import type { DatabaseSync } from 'node:sqlite'
import { assert } from '../../../contracts/errors/assert.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { type AppendRefusal, decideAppend, type LogView } from '../decide-append.ts'
import type { EncodedAppend } from '../validate-append.ts'
import { isStreamErased } from './erase-stream.ts'
import type { NewestEvent } from './log-end.ts'
import { INSERT_EVENT } from './schema.ts'
import { refusalOf } from './sqlite-errors.ts'
import { EVENTS, eventOf, type SummedRow, sound, sumOf } from './stored-rows.ts'

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
  const [begin, commit, insert] = [
    db.prepare('BEGIN IMMEDIATE'),
    db.prepare('COMMIT'),
    db.prepare(INSERT_EVENT),
  ]
  const byId = db.prepare(`${EVENTS} WHERE id = ?`)
  byId.setReturnArrays(true)
  const head = db.prepare('SELECT max(revision) AS revision FROM event WHERE stream = ?')
  const last = db.prepare('SELECT max(position) AS position FROM event')
  const lastPosition = (): number => Number(last.get()?.['position'] ?? 0)
  const heads = new RecentMap<string, number>(REMEMBERED_HEADS)
  let position = lastPosition()
  let newestAt = String(db.prepare('SELECT at FROM event ORDER BY position DESC LIMIT 1').get()?.['at'] ?? '')
  let newestId: string | undefined

  const view: LogView = {
    findById(id) {
      const found = byId.get(id) as unknown as SummedRow | undefined
      return found && eventOf(sound(found))
    },
    headOf(stream) {
      const revision = heads.get(stream) ?? Number(head.get(stream)?.['revision'] ?? -1)
      heads.set(stream, revision)
      return revision
    },
    isErased: (stream) => isStreamErased(db, stream),
  }

  function appendOne(append: EncodedAppend, at: string): AppendOutcome {
    const decision = decideAppend(append, view)
    if (decision.kind === 'refuse') return decision.refusal
    if (decision.kind === 'replay')
      return { revision: decision.revision, position: Number(decision.position) }
    const { stream } = append
    let revision = decision.firstRevision - 1
    const isNext = revision >= -1 && revision === view.headOf(stream)
    assert(isNext, 'an append follows the head of its stream', revision)
    for (const { id, type, schema, data: text, meta } of append.events) {
      revision += 1
      position += 1
      newestId = id
      // The text becomes bytes once, for the file and for the checksum.
      const data = Buffer.from(text)
      const sum = sumOf([position, stream, revision, type, schema, id, at, '', meta], data)
      insert.run(position, stream, revision, type, schema, id, at, data, meta, sum)
    }
    heads.set(stream, revision)
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
        begin.run()
        // A clock that steps back must not put an event before its predecessor in time.
        newestAt = at > newestAt ? at : newestAt
        assert(lastPosition() === position, 'one process appends to the log', position)
        const outcomes = batch.map((append) => appendOne(append, newestAt))
        isCommitting = true
        commit.run()
        if (newestId !== undefined) durable({ position, id: newestId })
        return outcomes
      } catch (error) {
        // What is remembered may be of the transaction that is now undone; SQLite ends some of them by itself.
        heads.clear()
        const isUndone = undo(db)
        position = lastPosition()
        const refusal = refusalOf(error, isCommitting && !isUndone)
        return batch.map(() => refusal)
      }
    },
  }
}

/** Whether there was still a transaction to undo. */
function undo(db: DatabaseSync): boolean {
  if (!db.isTransaction) return false
  db.exec('ROLLBACK')
  return true
}
