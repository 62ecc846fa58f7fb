import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import { syncPath } from '../../runtime/sqlite/sync-path.ts'
import { type Checkpoint, checkpointText, parseCheckpoint } from '../notes/checkpoint.ts'

/**
 * The newest checkpoint that this process knows of, in a file that no backup of the log holds: a log that was set back
 * does not extend it.
 */
export interface NewestCheckpoint {
  /** @throws ServiceError `config_invalid` for a file that cannot be read or holds none */
  read(): Checkpoint | undefined
  /** Durable when it returns. */
  write(checkpoint: Checkpoint): void
}

export function keepNewestCheckpoint(file: string): NewestCheckpoint {
  let kept: Checkpoint | undefined
  return {
    read() {
      if (kept !== undefined || !existsSync(file)) return kept
      try {
        kept = parseCheckpoint(readFileSync(file, 'utf8'))
        return kept
      } catch (error) {
        throw new ServiceError('config_invalid', {
          message: `the newest checkpoint ${file} cannot be read: ${reasonOf(error)}. Restore it, or open a new origin`,
          cause: error,
        })
      }
    },
    write(checkpoint) {
      makePrivateFolder(dirname(file))
      const unfinished = `${file}.unfinished`
      const handle = openSync(unfinished, 'w', 0o600)
      try {
        writeSync(handle, checkpointText(checkpoint))
        fsyncSync(handle)
      } finally {
        closeSync(handle)
      }
      renameSync(unfinished, file)
      syncPath(dirname(file))
      kept = checkpoint
    },
  }
}
