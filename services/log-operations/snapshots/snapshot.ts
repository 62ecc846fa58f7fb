import { z } from 'zod'
import type { BackupPlace } from '../backup/place.ts'
import { sha256Of } from '../backup/segment.ts'
import type { BackupKeys } from '../backup/signature.ts'

/** The read models of a process, and the place where snapshots of them lie. */
export interface RowsAtPlace {
  /** The common file of the read models. */
  readonly file: string
  readonly logId: string
  /** Names of the tables of this release, each with the version of its read model. */
  readonly tables: readonly string[]
  readonly place: BackupPlace
  readonly keys: BackupKeys
}

/** A snapshot of read models at a place. */
export interface Snapshot {
  /** The files of it begin so. */
  readonly name: string
  /** The same for all that a process of one log and release can begin with. */
  readonly fit: string
  /** Unix milliseconds, by the clock of the process that took it. */
  readonly takenAt: number
}

/** The signed list of the parts of a snapshot: it is there once all of them are. */
export const snapshotSchema = z.strictObject({
  kind: z.literal('read models'),
  name: z.string(),
  /** The newest event that any of the rows follow from. */
  newest: z.strictObject({ id: z.uuid(), position: z.string().min(1).max(64) }),
  parts: z.array(z.strictObject({ name: z.string(), sha256: z.string() })).max(8_192),
})

const FOLDER = 'read-models/'
const FILE = /^(read-models\/([0-9a-f]{16})-(\d{14})-[0-9a-f]{8})(\.json|\.\d+)$/

export const fitOf = ({ logId, tables }: Pick<RowsAtPlace, 'logId' | 'tables'>): string =>
  sha256Of([logId, ...tables.toSorted()].join('\n')).slice(0, 16)

export const snapshotName = (fit: string, takenAt: number, random: string): string =>
  `${FOLDER}${fit}-${String(takenAt).padStart(14, '0')}-${random}`

export const listName = ({ name }: Pick<Snapshot, 'name'>): string => `${name}.json`

/** @returns complete snapshots, newest first, and every file; the list of a snapshot comes before its parts */
export async function listSnapshots(place: BackupPlace) {
  const files = (await place.list(FOLDER)).flatMap((file) => {
    const [, name, fit = '', takenAt] = FILE.exec(file) ?? []
    return name === undefined ? [] : [{ file, name, fit, takenAt: Number(takenAt) }]
  })
  files.sort(
    (one, other) =>
      other.takenAt - one.takenAt ||
      Number(other.file === listName(other)) - Number(one.file === listName(one)),
  )
  return { complete: files.filter((one) => one.file === listName(one)) as readonly Snapshot[], files }
}
