import { ServiceError } from '../../contracts/errors/errors.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import { comparePositions, START } from '../../contracts/infra/position.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Entry, EventMark, ModelState, RowTables } from '../../services/log/projector/row-tables.ts'
import type { Random } from '../cluster/random.ts'
import type { Host } from './network.ts'

/** The disk of a process with its read models: it outlives the process, but for the newest transactions. */
export interface TablesDisk {
  open(host: Host): RowTables
  /** The power fails: any number of the newest transactions is gone, in their order. */
  crash(random: Random): void
}

interface Model extends ModelState {
  readonly version: number
  readonly rows: Map<string, string>
}

/** Transactions that may be lost; those before are on the disk. */
const UNSYNCED = 3

const parse = (text: string): JsonObject => JSON.parse(text) as JsonObject

// oxlint-disable-next-line max-lines-per-function -- the methods of a disk over one map of tables
export function createTablesDisk(): TablesDisk {
  const models = new Map<string, Model>()
  let newest: EventMark | undefined
  let undo: (() => void)[] = []

  function committed(undoing: () => void): void {
    undo = [...undo.slice(-UNSYNCED + 1), undoing]
  }
  function rowsOf(name: string): Map<string, string> {
    const found = models.get(name)
    if (found === undefined) throw new Error(`${name} was not opened`)
    return found.rows
  }
  const tables = (host: Host): RowTables => ({
    open(name, version) {
      const found = models.get(name)
      if (found?.version === version) return found
      const begun = { version, position: START, isWhole: false, rows: new Map<string, string>() }
      models.set(name, begun)
      committed(() => (found === undefined ? models.delete(name) : models.set(name, found)))
      return begun
    },
    get(name, key) {
      const text = rowsOf(name).get(key)
      return text === undefined ? undefined : parse(text)
    },
    range(name, { prefix = '', after, direction = 'forwards', limit }) {
      const isForwards = direction === 'forwards'
      const isBehind = (key: string): boolean =>
        after === undefined || (isForwards ? key > after : key < after)
      const rows = rowsOf(name)
      const keys = [...rows.keys()].filter((key) => key.startsWith(prefix) && isBehind(key)).toSorted()
      return (isForwards ? keys : keys.toReversed())
        .slice(0, Math.min(limit, LIMITS.rowsPerPage))
        .map((key): Entry => ({ key, row: parse(rows.get(key) as string) }))
    },
    *entries(name) {
      for (const [key, row] of [...rowsOf(name)].toSorted(([one], [other]) => (one < other ? -1 : 1)))
        yield { key, row }
    },
    commit(changes, mark) {
      requireAlive(host)
      const before = { newest, models: new Map(models) }
      if (mark !== undefined && comparePositions(mark.position, newest?.position ?? START) > 0) newest = mark
      for (const { name, rows: changed, position, isWhole } of changes) {
        const rows = new Map(rowsOf(name))
        for (const [key, row] of changed) put(rows, key, row && JSON.stringify(row))
        models.set(name, { version: models.get(name)?.version ?? 0, position, isWhole, rows })
      }
      committed(() => {
        newest = before.newest
        for (const { name } of changes) {
          const model = before.models.get(name)
          if (model !== undefined) models.set(name, model)
        }
      })
    },
    newest: () => newest,
    empty() {
      models.clear()
      newest = undefined
      undo = []
    },
    // The disk of a simulation keeps its bytes.
    onEmptied: () => undefined,
    close: () => undefined,
  })
  return {
    open: tables,
    crash(random) {
      for (let lost = random.below(undo.length + 1); lost > 0; lost--) undo.pop()?.()
      undo = []
    },
  }
}

function put(rows: Map<string, string>, key: string, text: string | undefined): void {
  if (text === undefined) rows.delete(key)
  else rows.set(key, text)
}

/** A dead process writes nothing, and reports nothing. */
function requireAlive({ dead }: Host): void {
  if (dead.aborted) throw new ServiceError('shutting_down')
}
