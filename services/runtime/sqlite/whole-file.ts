import {
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  type WriteFileOptions,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { syncPath } from './sync-path.ts'

/** The bytes of a file. @throws Error for what is no file, or longer than so many bytes; what reading throws */
export function readBoundedFile(file: string, mostBytes: number): Buffer {
  const found = statSync(file)
  if (!found.isFile()) throw new Error(`${file} is no file`)
  if (found.size > mostBytes) throw new Error(`${file} is longer than ${mostBytes} bytes`)
  return readFileSync(file)
}

/**
 * Puts a file in its place whole or not at all. It is written in a folder that no other process has, so that two that
 * write at once do not mix their bytes.
 */
export function writeWholeFile(file: string, content: string | Buffer, options?: WriteFileOptions): void {
  const folder = mkdtempSync(`${file}.`)
  try {
    const unfinished = join(folder, 'unfinished')
    writeFileSync(unfinished, content, options)
    renameSync(unfinished, file)
    syncPath(dirname(file))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
