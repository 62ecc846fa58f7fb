import { ServiceError } from '../../contracts/errors.ts'
import type { JsonObject } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { comparePositions, type Position, START } from '../../contracts/position.ts'
import type { Entry, EventMark, RowTable, RowTables } from '../../services/log/projector/row-tables.ts'
import type { VersionState } from '../../services/log/projector/rows-file.ts'
import type { Random } from '../cluster/random.ts'
import type { Host } from './network.ts'

/** The disk of a process with its read models: it outlives the process, but for the newest transactions. */
export interface TablesDisk {
  open(host: Host): RowTables
  /** The power fails: any number of the newest transactions is gone, in their order. */
  crash(random: Random): void
}

interface Version {
  position: Position
  role: VersionState['role']
  readonly rows: Map<string, string>
}

/** Transactions that may be lost; those before are on the disk. */
const UNSYNCED = 3

// oxlint-disable-next-line max-lines-per-function -- the methods of a disk over one map of tables
export function createTablesDisk(): TablesDisk {
  const projections = new Map<string, Map<number, Version>>()
  let newest: EventMark | undefined
  let undo: (() => void)[] = []

  const versionsOf = (name: string): Map<number, Version> => {
    const known = projections.get(name) ?? new Map<number, Version>()
    projections.set(name, known)
    return known
  }
  function committed(undoing: () => void): void {
    undo = [...undo.slice(-UNSYNCED + 1), undoing]
  }
  function change(name: string, work: (versions: Map<number, Version>) => void): void {
    const versions = versionsOf(name)
    const before = new Map(versions)
    work(versions)
    committed(() => projections.set(name, before))
  }

  function tableOf(host: Host, name: string, version: number): RowTable {
    const find = (): Version => {
      const found = versionsOf(name).get(version)
      if (found === undefined) throw new Error(`there is no version ${version} of ${name}`)
      return found
    }
    const parse = (text: string): JsonObject => JSON.parse(text) as JsonObject
    return {
      get(key) {
        const text = find().rows.get(key)
        return text === undefined ? undefined : parse(text)
      },
      range({ prefix = '', after, direction = 'forwards', limit }) {
        const isForwards = direction === 'forwards'
        const isBehind = (key: string): boolean =>
          after === undefined || (isForwards ? key > after : key < after)
        const { rows } = find()
        const keys = [...rows.keys()].filter((key) => key.startsWith(prefix) && isBehind(key)).toSorted()
        const wanted = isForwards ? keys : keys.toReversed()
        return wanted
          .slice(0, Math.min(limit, LIMITS.rowsPerPage))
          .map((key): Entry => ({ key, row: parse(rows.get(key) as string) }))
      },
      *entries() {
        for (const [key, row] of [...find().rows].toSorted(([one], [other]) => (one < other ? -1 : 1)))
          yield { key, row }
      },
      commit(changes, from, to, mark) {
        requireAlive(host)
        const state = find()
        if (state.position !== from) {
          throw new ServiceError('store_locked', {
            message: `${name} is at ${state.position}, not at ${from}`,
          })
        }
        const newestBefore = newest
        if (mark !== undefined && comparePositions(mark.position, newest?.position ?? START) > 0)
          newest = mark
        const before = [...changes.keys()].map((key) => [key, state.rows.get(key)] as const)
        for (const [key, row] of changes) put(state, key, row && JSON.stringify(row))
        state.position = to
        committed(() => {
          for (const [key, text] of before) put(state, key, text)
          state.position = from
          newest = newestBefore
        })
      },
    }
  }

  return {
    open: (host) => ({
      states: (name) =>
        [...versionsOf(name)].map(([version, { position, role }]) => ({ version, position, role })),
      create: (name, version, role) =>
        change(name, (versions) => versions.set(version, { position: START, role, rows: new Map() })),
      table: (name, version) => tableOf(host, name, version),
      fileOf: (name) => name,
      inTransaction: (_name, _version, work) => work(),
      activate: (name, version) =>
        change(name, (versions) => {
          for (const other of versions.keys()) if (other !== version) versions.delete(other)
          const state = versions.get(version)
          if (state !== undefined) state.role = 'active'
        }),
      newest: () => newest,
      standOnNewest() {
        undo = []
        const most = newest?.position ?? START
        for (const versions of projections.values()) {
          for (const state of versions.values()) {
            if (comparePositions(state.position, most) > 0) state.position = most
          }
        }
      },
      empty() {
        projections.clear()
        newest = undefined
        undo = []
      },
      // The disk of a simulation keeps its bytes.
      remake: () => undefined,
      onRemade: () => undefined,
      close: () => undefined,
    }),
    crash(random) {
      for (let lost = random.below(undo.length + 1); lost > 0; lost--) undo.pop()?.()
      undo = []
    },
  }
}

function put({ rows }: Version, key: string, text: string | undefined): void {
  if (text === undefined) rows.delete(key)
  else rows.set(key, text)
}

/** A dead process writes nothing, and reports nothing. */
function requireAlive({ dead }: Host): void {
  if (dead.aborted) throw new ServiceError('shutting_down')
}
