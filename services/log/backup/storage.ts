import { ServiceError } from '../../../contracts/errors/errors.ts'

/** A file of a backup, as it was read. */
export interface StoredFile {
  readonly body: Buffer
  /** Another one after every change. */
  readonly version: string
}

/** A name in a backup, and when it was written last, Unix milliseconds. */
export interface StoredName {
  readonly name: string
  readonly at: number
}

/**
 * The storage of a backup: files by name, each whole and durable when `put` resolves. @throws ServiceError
 * `backup_unreachable`, `store_full`
 */
export interface BackupStorage {
  /** For people, without credentials. */
  readonly description: string
  get(name: string): Promise<StoredFile | undefined>
  put(name: string, body: Uint8Array): Promise<void>
  /**
   * Writes a file in place of the version that was read; undefined if there was none. @returns the new version.
   * @throws ServiceError `store_locked` if somebody else has changed it since
   */
  replace(name: string, body: Uint8Array, version: string | undefined): Promise<string>
  /** Names that begin so. */
  list(prefix: string): Promise<readonly StoredName[]>
  remove(name: string): Promise<void>
}

export const anotherWasFirst = (description: string): ServiceError =>
  new ServiceError('store_locked', {
    message: `another backup to ${description} was first: it changed backup.json while this one ran`,
    nextStep: 'Run the command again: it goes on where the other one ended.',
  })

export const storageFull = (what: string, reason: string, cause?: unknown): ServiceError =>
  new ServiceError('store_full', {
    message: `${what}: it is full (${reason})`,
    nextStep: 'Make room there and run the same command again: it goes on where it was.',
    cause,
  })
