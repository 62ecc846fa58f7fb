import { existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { assert } from '../../../contracts/assert.ts'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import { writeWholeFile } from '../../runtime/sqlite/whole-file.ts'
import { type Checkpoint, checkpointText, parseCheckpoint } from '../notes/checkpoint.ts'

/**
 * The newest checkpoint that this process knows of, in a file that no backup of the log holds: a log that was set back
 * does not extend it.
 */
export type NewestCheckpoint = ReturnType<typeof keepNewestCheckpoint>

/** A checksum in a line of its own, which former releases pass over: a byte that changed on the disk is no other checkpoint. */
const withSum = (text: string): string => `${text}crc32 ${crc32(text).toString(16).padStart(8, '0')}\n`

/** @throws Error for what is no checkpoint, or not what was written; a file of a former release has no checksum */
function unsummed(text: string): Checkpoint {
  const checkpoint = parseCheckpoint(text)
  const own = checkpointText(checkpoint)
  if (text !== own && text !== withSum(own)) throw new Error('a byte of it is not what was written')
  return checkpoint
}

export function keepNewestCheckpoint(file: string) {
  let kept: Checkpoint | undefined
  return {
    /** @throws ServiceError `config_invalid` for a file that cannot be read or holds none */
    read(): Checkpoint | undefined {
      if (kept !== undefined || !existsSync(file)) return kept
      try {
        kept = unsummed(readFileSync(file, 'utf8'))
        return kept
      } catch (error) {
        throw new ServiceError('config_invalid', {
          message: `the newest checkpoint ${file} cannot be read: ${reasonOf(error)}. Restore it, or open a new origin`,
          cause: error,
        })
      }
    },
    /** Durable when it returns. */
    write(checkpoint: Checkpoint): void {
      makePrivateFolder(dirname(file))
      assert(
        kept === undefined || kept.origin !== checkpoint.origin || checkpoint.size >= kept.size,
        'the newest checkpoint of an origin only grows',
        checkpoint.size,
      )
      writeWholeFile(file, withSum(checkpointText(checkpoint)), { mode: 0o600, flush: true })
      kept = checkpoint
    },
  }
}
