import type { Subject } from '../../contracts/owner-accounts.ts'
import { subjectStream } from '../../contracts/streams.ts'
import { type KeptList, keptList } from '../log-operations/backup/kept-list.ts'

/** Beside the log, and in no backup of it: a log that was set back does not know what was erased since. */
export const ERASED_SUBJECTS_FILE = 'erased-subjects'

const LINE = /^subject-([0-9a-f-]{36})\.(\d{1,9})$/

/** Names of streams of keys, one a line; lines with `#` are remarks. */
export const erasedList = (file: string): KeptList => keptList(file, (line) => LINE.test(line))

/** Adds names that are not there yet; durable when it returns. @throws TypeError for a file that was spoilt */
export function rememberErased(file: string, names: readonly string[]): void {
  const list = erasedList(file)
  const known = new Set(list.read())
  list.add(names.filter((name) => !known.has(name)))
}

export type ErasedSubjects = ReturnType<typeof keepErasedSubjects>

/** Subjects whose keys were erased, as far as this folder knows: kept outside of the log. */
export const keepErasedSubjects = (file: string) => ({
  /** @throws TypeError for a file that was spoilt */
  list: (): readonly Subject[] =>
    erasedList(file)
      .read()
      .map((name) => {
        const [, accountId = '', generation = ''] = LINE.exec(name) ?? []
        return { accountId, generation: Number(generation) }
      }),
  /** Durable when it returns. */
  add: (subjects: readonly Subject[]) =>
    rememberErased(
      file,
      subjects.map(({ accountId, generation }) => subjectStream(accountId, generation)),
    ),
})
