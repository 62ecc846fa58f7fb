/** How far long work has come, on standard error. */
export interface ProgressLine {
  show(text: string): void
  /** Ends the line, with a last word. */
  end(text: string): void
}

/** A terminal is written to at most this often, a file only so often that it can be read. */
const TERMINAL_MS = 200
const FILE_MS = 10_000

export function createProgressLine(
  stream: NodeJS.WritableStream & { readonly isTTY?: boolean },
  now: () => number,
): ProgressLine {
  const isTerminal = stream.isTTY === true
  const everyMs = isTerminal ? TERMINAL_MS : FILE_MS
  let shownAt = now()
  return {
    show(text) {
      if (now() - shownAt < everyMs) return
      shownAt = now()
      stream.write(isTerminal ? `\r${text}\u001b[K` : `${text}\n`)
    },
    end(text) {
      stream.write(isTerminal ? `\r${text}\u001b[K\n` : `${text}\n`)
    },
  }
}
