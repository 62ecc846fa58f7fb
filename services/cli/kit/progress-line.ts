import type { CommandContext } from './command.ts'
import { visibleText } from './visible-text.ts'

export { grouped } from '../../../contracts/share-text.ts'

/** How far long work has come, on standard error. */
export interface ProgressLine {
  show(text: string): void
  /** Ends the line with the result in words, and writes it as JSON where `--json` asks for it. */
  end(text: string, result?: object): void
}

/** A terminal is written to at most this often, a file only so often that it can be read. */
const TERMINAL_MS = 200
const FILE_MS = 10_000

export function createProgressLine({
  stdout,
  stderr,
  now,
  flags,
}: CommandContext & { readonly flags: object }): ProgressLine {
  const isJson = 'json' in flags && flags.json === true
  const isTerminal = stderr.isTTY === true
  const everyMs = isTerminal ? TERMINAL_MS : FILE_MS
  let shownAt = now()
  // As bytes: of a text its own marks for the terminal would be shown.
  const line = (text: string, end: string): Buffer =>
    Buffer.from(isTerminal ? `\r${visibleText(text)}\u001b[K${end}` : `${visibleText(text)}\n`)
  return {
    show(text) {
      if (now() - shownAt < everyMs) return
      shownAt = now()
      stderr.write(line(text, ''))
    },
    end(text, result) {
      stderr.write(line(text, '\n'))
      if (isJson && result !== undefined) stdout.write(`${JSON.stringify(result)}\n`)
    },
  }
}
