import { type Bytes, joined } from './bytes.ts'
import { SignalRefusal } from './refusal.ts'

/** Bytes of an answer, and characters of a line of one that has rows; both have some thousands. */
const LONGEST = 16_777_216

/** The whole body of an answer. @throws SignalRefusal `unreadable` past the limit */
export async function bytesOf(response: Response): Promise<Bytes> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of partsOf(response)) {
    length += part.length
    if (length > LONGEST) throw tooLong('bytes')
    parts.push(part)
  }
  return joined(...parts)
}

const tooLong = (what: string): SignalRefusal =>
  new SignalRefusal('unreadable', `more than ${LONGEST} ${what}: is this the address?`)

/**
 * The lines of an answer as they come.
 *
 * @param silentMs ends the answer after so long without a byte; unlimited where it is left out
 * @throws SignalRefusal `unreadable` for a line past the limit
 */
export async function* linesOf(response: Response, silentMs?: number): AsyncGenerator<string, void, void> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const part of partsOf(response, silentMs)) {
    const lines = (rest + decoder.decode(part, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > LONGEST) throw tooLong('characters')
    yield* lines
  }
  if (rest !== '') yield rest
}

async function* partsOf({ body }: Response, silentMs?: number): AsyncGenerator<Uint8Array, void, void> {
  const reader = (body ?? new ReadableStream<Uint8Array>()).getReader()
  try {
    for (;;) {
      const silence = silentMs === undefined ? undefined : setTimeout(() => void reader.cancel(), silentMs)
      const { done, value } = await reader.read().finally(() => clearTimeout(silence))
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
