import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const CORPUS = resolve(import.meta.dirname, '../../fixtures/corpus')

/**
 * The inputs that are kept of a target: what it takes, and whatever once broke it. A line each, as a JSON text of bytes; lines that
 * begin with `#` say why the next one is kept.
 */
export function corpusOf(target: string): readonly string[] {
  const file = join(CORPUS, `${target}.txt`)
  if (!existsSync(file)) throw new Error(`${target} has no corpus: ${file}`)
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => JSON.parse(line) as string)
}

/** As a line of the corpus. */
export const corpusLine = (input: string): string =>
  JSON.stringify(input).replaceAll(
    /[\u007f-\u00ff]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
