import { readFileSync, statSync } from 'node:fs'

/** The bytes of a file. @throws Error for what is no file, or longer than so many bytes; what reading throws */
export function readBoundedFile(file: string, mostBytes: number): Buffer {
  const found = statSync(file)
  if (!found.isFile()) throw new Error(`${file} is no file`)
  if (found.size > mostBytes) throw new Error(`${file} is longer than ${mostBytes} bytes`)
  return readFileSync(file)
}
