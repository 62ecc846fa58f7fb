/**
 * The place of a backup: files by name, in a folder or an object store that speaks S3. A file appears whole or not at all, and is durable when
 * `put` resolves.
 *
 * Errors are ServiceErrors: `backup_unreachable`, `store_full` where there is no room, `store_locked` where another backup
 * goes on.
 */
export interface BackupPlace {
  /** For people, without credentials. */
  readonly description: string
  /** Undefined for a file that is not there. */
  get(name: string): Promise<Buffer | undefined>
  put(name: string, body: Uint8Array): Promise<void>
  /** Names that begin so. */
  list(prefix: string): Promise<readonly string[]>
  /** Does nothing where it is not there. */
  remove(name: string): Promise<void>
  /** Keeps other backups off until it is released. */
  lock(): Promise<PlaceLock>
}

export interface PlaceLock {
  /**
   * Says that the backup goes on: a lock that is not renewed is taken for one of a process that ended.
   *
   * @throws ServiceError `store_locked` where somebody else has taken it
   */
  renew(): Promise<void>
  release(): Promise<void>
}
