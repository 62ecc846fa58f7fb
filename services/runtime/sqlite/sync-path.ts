import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Has what a file holds, or which files a folder holds, on the disk when it returns. */
export function syncPath(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
