import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import { syncPath } from '../../runtime/sqlite/sync-path.ts'

/** A list of lines beside the log, and in no backup of it: a log that was set back does not know what is in it. */
export interface KeptList {
  /** In the order in which they were added. @throws TypeError for a line that is none of this list */
  read(): readonly string[]
  /** The newest remark that begins so. */
  remark(beginning: string): string | undefined
  /** Durable when it returns. */
  add(lines: readonly string[]): void
}

/** The longest line that may have been cut off. */
const TAIL_BYTES = 65_536

/**
 * Lines that begin with `#` are remarks. A last line that a crash cut off was acknowledged to nobody: it is left out,
 * and overwritten.
 */
export function keptList(file: string, isLine: (line: string) => boolean): KeptList {
  const linesOf = (): string[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [])
  return {
    remark: (beginning) => linesOf().findLast((line) => line.startsWith(beginning)),
    read() {
      const lines = linesOf()
      const last = lines.pop()?.trim() ?? ''
      if (isLine(last)) lines.push(last)
      const said = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'))
      const wrong = said.find((line) => !isLine(line))
      if (wrong === undefined) return said
      throw new TypeError(`${JSON.stringify(wrong.slice(0, 80))} is no line of such a list`)
    },
    add(lines) {
      if (lines.length === 0) return
      makePrivateFolder(dirname(file))
      const isNew = !existsSync(file)
      const handle = openSync(file, 'a+', 0o600)
      try {
        const before = endLastLine(handle, isLine)
        writeFileSync(handle, before + lines.map((line) => `${line}\n`).join(''))
        fsyncSync(handle)
      } finally {
        closeSync(handle)
      }
      if (isNew) syncPath(dirname(file))
    },
  }
}

/** Takes away a last line that was cut off. @returns what ends one that is whole */
function endLastLine(handle: number, isLine: (line: string) => boolean): string {
  const { size } = fstatSync(handle)
  const tail = Buffer.alloc(Math.min(size, TAIL_BYTES))
  readSync(handle, tail, 0, tail.length, size - tail.length)
  const last = tail.subarray(tail.lastIndexOf('\n') + 1)
  if (last.length === 0) return ''
  const text = last.toString('utf8').trim()
  if (isLine(text) || text.startsWith('#')) return '\n'
  ftruncateSync(handle, size - last.length)
  return ''
}
