import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { writeWholeFile } from '../../runtime/sqlite/whole-file.ts'

/** The newest event that was durable, as it stands beside the log. */
export interface NewestEvent {
  readonly position: number
  readonly id: string
}

const newestFile = (directory: string): string => join(directory, 'newest-position')

/** The same length always, so that it is written over where it lies: no end in between leaves half of it. */
const LINE = /^ *(\d{1,16}) ([0-9a-f-]{36})\n$/
const lineOf = ({ position, id }: NewestEvent): string => `${String(position).padStart(16)} ${id}\n`

/** @throws ServiceError `log_end_lost` for a file that says nothing */
export function readNewest(directory: string): NewestEvent | undefined {
  const file = newestFile(directory)
  if (!existsSync(file)) return undefined
  let text = ''
  // Beside the service, which may be writing it: what is read twice alike is one note.
  for (let again = readFileSync(file, 'utf8'); again !== text; again = readFileSync(file, 'utf8'))
    text = again
  const [, position, id] = LINE.exec(text) ?? []
  if (position !== undefined && id !== undefined) return { position: Number(position), id }
  throw new ServiceError('log_end_lost', {
    message: `${file} does not hold the position and the id of an event: whether the log lost its end cannot be told`,
    nextStep: `Compare the log with a backup (docs/backup.md). Where it is whole, delete ${file}: the next start makes it anew.`,
  })
}

/**
 * Notes the newest durable event after each commit, so the note is never ahead of the log. Only the first note waits for
 * the disk: after a kill it is exact, after a power cut it may be seconds old.
 */
export function keepNewest(directory: string) {
  const file = newestFile(directory)
  let handle: number | undefined
  return {
    /** @returns why it could not be noted; nothing is lost with it */
    note(newest: NewestEvent): string | undefined {
      try {
        if (handle !== undefined) writeSync(handle, lineOf(newest), 0)
        else {
          writeWholeFile(file, lineOf(newest), { mode: 0o600, flush: true })
          handle = openSync(file, 'r+')
        }
        return undefined
      } catch (error) {
        return `${file} cannot be written, so that the next start may not see whether the log lost its end: ${reasonOf(error)}`
      }
    },
    close() {
      if (handle === undefined) return
      fsyncSync(handle)
      closeSync(handle)
    },
  }
}
