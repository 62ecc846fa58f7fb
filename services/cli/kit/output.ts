import { createWriteStream, existsSync, realpathSync, statSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import type { CommandContext } from './command.ts'

export { grouped } from '../../../contracts/domain/statistics.ts'

/** C0 but line ends and tabs, DEL, C1, and the marks that turn the direction of letters around. */
const HIDDEN = /(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

/** Text with each mark that a terminal would obey written out. @example visibleText('\u001b[2K') // '\\u001b[2K' */
export const visibleText = (text: string): string =>
  text.replaceAll(HIDDEN, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** A stream whose texts become visible: logs, services and files of others have their words in them. Bytes pass as they are. */
export const visibleStream = <Stream extends NodeJS.WritableStream>(stream: Stream): Stream =>
  new Proxy(stream, {
    get(target, name) {
      if (name === 'write')
        return (text: string | Uint8Array, ...rest: never[]) =>
          target.write(typeof text === 'string' ? visibleText(text) : text, ...rest)
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

/** A terminal is written to at most this often, a file only so often that it can be read. */
const TERMINAL_MS = 200
const FILE_MS = 10_000

type Progressing = CommandContext & { readonly flags: { readonly json?: unknown } }

/** Progress of long work on standard error; its result also as JSON on standard output if `--json` asks for it. */
export function createProgressLine({ stdout, stderr, now, flags }: Progressing) {
  const isTerminal = stderr.isTTY === true
  let shownAt = now()
  // As bytes: the marks of a text itself would be written out.
  const write = (text: string, end: string): boolean =>
    stderr.write(Buffer.from(isTerminal ? `\r${visibleText(text)}\u001b[K${end}` : `${visibleText(text)}\n`))
  return {
    show(text: string): void {
      if (now() - shownAt < (isTerminal ? TERMINAL_MS : FILE_MS)) return
      shownAt = now()
      write(text, '')
    },
    end(text: string, result?: object): void {
      write(text, '\n')
      if (flags.json === true && result !== undefined) stdout.write(`${JSON.stringify(result)}\n`)
    },
  }
}

/**
 * Writes answers of a service: tables and fields for people on a terminal, JSON, one object a line, for programs.
 *
 * @param columns of a table, which are as wide as the first page needs; @param isJson also on a terminal
 */
export function createAnswerWriter(
  output: CommandContext['stdout'],
  columns: readonly string[],
  isJson: boolean,
) {
  const isTable = output.isTTY === true && !isJson
  let widths: readonly number[] | undefined
  const json = (answer: object): void => void output.write(`${JSON.stringify(answer)}\n`)
  function write(table: readonly (readonly string[])[]): void {
    widths ??= table[0]?.map((_, at) => Math.max(...table.map((cells) => cells[at]?.length ?? 0)))
    for (const cells of table) {
      const padded = cells.map((cell, at) => cell.padEnd(widths?.[at] ?? 0))
      output.write(`${padded.join('  ').trimEnd()}\n`)
    }
  }
  return {
    one(answer: object): void {
      if (!isTable) return json(answer)
      write(Object.entries(answer).map(([name, value]) => [titleOf(name), cellOf(value)]))
    },
    rows(page: readonly object[]): void {
      if (!isTable) return page.forEach(json)
      const head = widths === undefined ? [columns.map(titleOf)] : []
      write([...head, ...page.map((row) => columns.map((name) => cellOf((row as JsonObject)[name])))])
    },
  }
}

const titleOf = (name: string): string => name.replaceAll('_', ' ')
/** A field of an answer as text. */
export const cellOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === null || value === undefined ? '—' : JSON.stringify(value)

type Chunks = AsyncIterable<string | Uint8Array>

/** Writes at the pace of the reader; the stream stays open. A reader that hung up ends it with EPIPE. */
export const writeToStream = (stream: NodeJS.WritableStream, chunks: Chunks): Promise<void> =>
  pour('standard output', chunks, stream as Writable, false)

/**
 * Writes a file that appears whole or not at all: under another name beside it, which takes its place when all is on the
 * disk. It replaces a file of that name, through a link too, and nothing else.
 *
 * @param signal when it is aborted, nothing is kept and its reason is thrown @returns bytes
 */
export async function writeFileWhole(file: string, chunks: Chunks, signal: AbortSignal): Promise<number> {
  const isThere = existsSync(file)
  if (isThere && !statSync(file).isFile())
    throw new ServiceError('config_invalid', {
      message: `--out ${file} is no file, and would be replaced by one. Name another, or leave --out out to write to standard output`,
    })
  const place = isThere ? realpathSync(file) : file
  const unfinished = `${place}.partial-${process.pid}`
  const stream = createWriteStream(unfinished, { flush: true })
  try {
    await pour(`--out ${file}`, chunks, stream, true)
    signal.throwIfAborted()
    await rename(unfinished, place)
    return stream.bytesWritten
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
}

/** @throws ServiceError `config_invalid` or `store_full` if the stream takes no more; what the chunks fail with */
async function pour(where: string, chunks: Chunks, stream: Writable, end: boolean): Promise<void> {
  let failure: unknown
  async function* watched(): AsyncGenerator<string | Uint8Array, void, void> {
    try {
      yield* chunks
    } catch (error) {
      failure = error
      throw error
    }
  }
  try {
    await pipeline(watched, stream, { end })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (error === failure || code === 'EPIPE') throw error
    throw new ServiceError(code === 'ENOSPC' ? 'store_full' : 'config_invalid', {
      message: `${where} cannot be written: ${reasonOf(error)}`,
      cause: error,
    })
  }
}
