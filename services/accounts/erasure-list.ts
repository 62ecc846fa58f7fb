import { existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Subject } from '../../contracts/domain/owner-accounts.ts'
import { makePrivateFolder } from '../runtime/sqlite/private-files.ts'
import { writeWholeFile } from '../runtime/sqlite/whole-file.ts'

/** Beside the log, and in no backup of it: a log that was set back does not know what was erased since. */
export const ERASURE_LIST_FILE = 'erased-subjects'

const LINE = /^subject-([0-9a-f-]{36})\.(\d{1,9})$/

export type ErasureList = ReturnType<typeof openErasureList>

/** Names of streams of keys that were erased, one a line. */
export const openErasureList = (file: string) => ({
  /** @throws TypeError for a file that is no such list */
  read(): readonly string[] {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
    const lines = text.split('\n').flatMap((line) => line.trim() || [])
    const wrong = lines.find((line) => !LINE.test(line))
    if (wrong === undefined) return lines
    throw new TypeError(`${JSON.stringify(wrong.slice(0, 80))} names no stream of a key`)
  },
  /** Durable when it returns. @throws TypeError for a file that is no such list */
  add(streams: readonly string[]): void {
    const known = this.read()
    const all = [...new Set([...known, ...streams])]
    if (all.length === known.length) return
    makePrivateFolder(dirname(file))
    writeWholeFile(file, all.map((stream) => `${stream}\n`).join(''), { mode: 0o600, flush: true })
  },
})

/** @param stream one that the list names */
export function listedSubject(stream: string): Subject {
  const [, accountId = '', generation = ''] = LINE.exec(stream) ?? []
  return { accountId, generation: Number(generation) }
}
