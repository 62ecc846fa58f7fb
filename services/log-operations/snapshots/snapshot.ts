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

/** The signed list of what a snapshot holds: it is there once all of that is. */
export const snapshotSchema = z.strictObject({
  kind: z.literal('read models'),
  name: z.string(),
  /** The newest event that any of the rows follow from. */
  newest: z.strictObject({ id: z.uuid(), position: z.string().min(1).max(64) }),
  /** Files by what follows the name of the common file, and their parts; the common file is the last one. */
  files: z
    .array(
      z.strictObject({
        suffix: z.string().regex(/^(\.row_[a-z_]{1,41}_\d{1,9})?$/),
        parts: z.array(z.strictObject({ name: z.string(), sha256: z.string() })).max(8_192),
      }),
    )
    .max(64),
})
export type SnapshotFiles = z.infer<typeof snapshotSchema>['files']

const FILE = /^(read-models\/([0-9a-f]{16})-(\d{14})-[0-9a-f]{8})(\.json|\.\d+)$/

/** The same for all processes that can begin with one another's rows. */
export const fitOf = ({ logId, tables }: Pick<RowsAtPlace, 'logId' | 'tables'>): string =>
  sha256Of([logId, ...tables.toSorted()].join('\n')).slice(0, 16)

export const snapshotName = (fit: string, takenAt: number, random: string): string =>
  `read-models/${fit}-${String(takenAt).padStart(14, '0')}-${random}`

/** @returns every file of a snapshot at a place, of the newest first; the list comes before what it lists */
export async function listSnapshots(place: BackupPlace) {
  const files = (await place.list('read-models/')).flatMap((file) => {
    const [, name, fit = '', takenAt, end] = FILE.exec(file) ?? []
    return name === undefined ? [] : [{ file, name, fit, takenAt: Number(takenAt), isList: end === '.json' }]
  })
  return files.toSorted(
    (one, other) => other.takenAt - one.takenAt || Number(other.isList) - Number(one.isList),
  )
}

/** Copies are made here, until they are whole. */
export const scratchFolder = (file: string): string => `${file}.snapshot`
