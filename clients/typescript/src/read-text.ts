import { SignalRefusal } from './refusal.ts'

/** Characters of an answer, and of a line of one that has rows; both have some thousands. */
const LONGEST_TEXT = 16_777_216

/** The whole text of an answer. @throws SignalRefusal `unreadable` past the limit */
export async function textOf(response: Response): Promise<string> {
  const lines: string[] = []
  let length = 0
  for await (const line of linesOf(response)) {
    length += line.length + 1
    if (length > LONGEST_TEXT) throw tooLong()
    lines.push(line)
  }
  return lines.join('\n')
}

const tooLong = (): SignalRefusal =>
  new SignalRefusal('unreadable', `more than ${LONGEST_TEXT} characters: is this the address?`)

/**
 * The lines of an answer as they come.
 *
 * @param silentMs ends the answer after so long without a byte; unlimited where it is left out
 * @throws SignalRefusal `unreadable` for a line past the limit
 */
export async function* linesOf({ body }: Response, silentMs?: number): AsyncGenerator<string, void, void> {
  let rest = ''
  const decoder = new TextDecoder()
  const reader = (body ?? new ReadableStream<Uint8Array>()).getReader()
  try {
    for (;;) {
      const silence = silentMs === undefined ? undefined : setTimeout(() => void reader.cancel(), silentMs)
      const { done, value } = await reader.read().finally(() => clearTimeout(silence))
      if (done) break
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > LONGEST_TEXT) throw tooLong()
      yield* lines
    }
    if (rest !== '') yield rest
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
