/**
 * The place of a backup: files by name, each whole and durable when `put` resolves. @throws ServiceError
 * `backup_unreachable`; `store_full`; `store_locked` beside another backup
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
   * Keeps the lock: one that is not renewed counts as abandoned. @throws ServiceError `store_locked` where somebody else
   * has it
   */
  renew(): Promise<void>
  release(): Promise<void>
}
