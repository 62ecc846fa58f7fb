/** SQLite's primary result codes that mean something in particular to the service. */
export const SQLITE = { busy: 5, corrupt: 11, full: 13, notADatabase: 26 } as const

/** The primary result code of an error of `node:sqlite`, 0 for any other error. */
export const sqliteCode = (error: unknown): number =>
  error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
