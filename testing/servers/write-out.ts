import { writeSync } from 'node:fs'

/**
 * Writes a line to standard output before it returns, for processes that a test kills: what was written is known then.
 * A reader that is busy leaves the pipe full, which a write that does not wait takes for an error.
 */
export function writeOut(line: string): void {
  for (;;) {
    try {
      writeSync(1, line)
      return
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
    }
  }
}
