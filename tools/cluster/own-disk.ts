import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** A small file system of one process, which can be filled. */
export interface OwnDisk {
  /** Leaves not a byte free. */
  fill(): void
  free(): void
  close(): void
}

const SIZE_MB = 128
const BLOCK = Buffer.alloc(1_048_576)

/** @returns undefined where this user may not mount one */
export function mountDisk(directory: string, sizeMb = SIZE_MB): OwnDisk | undefined {
  mkdirSync(directory, { recursive: true })
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m,mode=0700`, 'tmpfs', directory], {
      stdio: 'ignore',
    })
  } catch {
    return undefined
  }
  const filling = join(directory, 'filling')
  return {
    fill() {
      const file = openSync(filling, 'w')
      try {
        // Ever less: what is left beside a block is filled, too.
        for (let size = BLOCK.length; size > 0; ) if (!wrote(file, size)) size >>= 1
      } finally {
        closeSync(file)
      }
    },
    free: () => rmSync(filling, { force: true }),
    // Lazily: whoever still has a file of it open has ended in a moment.
    close: () => void execFileSync('umount', ['-l', directory]),
  }
}

function wrote(file: number, size: number): boolean {
  try {
    return writeSync(file, BLOCK, 0, size) > 0
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false
    throw error
  }
}
