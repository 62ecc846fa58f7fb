import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Subject } from '../../contracts/owner-accounts.ts'
import { subjectStream } from '../../contracts/streams.ts'
import { makePrivateFolder } from '../platform/sqlite/private-files.ts'

/** Beside the log, and in no backup of it: a log that was set back does not know what was erased since. */
export const ERASED_SUBJECTS_FILE = 'erased-subjects'

const LINE = /^subject-([0-9a-f-]{36})\.(\d{1,9})$/

/** Names of streams of keys, one a line; lines with `#` are remarks. @throws TypeError for a line that is none */
export function subjectsIn(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim())
  const names = lines.filter((line) => line !== '' && !line.startsWith('#'))
  const wrong = names.find((name) => !LINE.test(name))
  if (wrong === undefined) return names
  throw new TypeError(`${JSON.stringify(wrong.slice(0, 80))} is no name of a subject`)
}

/** Adds names that are not there yet; durable when it returns. */
export function rememberErased(file: string, names: readonly string[]): void {
  const known = new Set(existsSync(file) ? subjectsIn(readFileSync(file, 'utf8')) : [])
  const added = names.filter((name) => !known.has(name))
  if (added.length === 0) return
  makePrivateFolder(dirname(file))
  const handle = openSync(file, 'a', 0o600)
  try {
    writeSync(handle, added.map((name) => `${name}\n`).join(''))
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** Subjects whose keys were erased, as far as this folder knows: kept outside of the log. */
export interface ErasedSubjects {
  /** @throws TypeError for a file that was spoilt */
  list(): readonly Subject[]
  /** Durable when it returns. */
  add(subjects: readonly Subject[]): void
}

export const keepErasedSubjects = (file: string): ErasedSubjects => ({
  list() {
    if (!existsSync(file)) return []
    return subjectsIn(readFileSync(file, 'utf8')).map((name) => {
      const [, accountId = '', generation = ''] = LINE.exec(name) ?? []
      return { accountId, generation: Number(generation) }
    })
  },
  add: (subjects) =>
    rememberErased(
      file,
      subjects.map(({ accountId, generation }) => subjectStream(accountId, generation)),
    ),
})
