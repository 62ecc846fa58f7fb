import type { Readable } from 'node:stream'

/** Characters of a line; rows have some thousands. */
const LONGEST_LINE = 4_194_304

/**
 * The lines of a stream of UTF-8 text, without their ends (LF or CRLF).
 *
 * @throws what the stream fails with, and an Error for a line that does not end; a last line without its end is then not given.
 */
export async function* readLines(stream: Readable): AsyncGenerator<string, void, void> {
  let rest = ''
  for await (const chunk of stream.setEncoding('utf8')) {
    const lines = (rest + String(chunk)).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > LONGEST_LINE) throw new Error(`a line has more than ${LONGEST_LINE} characters`)
    for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line
  }
  if (rest !== '') yield rest
}
