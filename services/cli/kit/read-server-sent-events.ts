import type { Readable } from 'node:stream'
import { readLines } from './read-lines.ts'

export interface ServerSentEvent {
  readonly id: string
  readonly data: string
}

/**
 * The events of a stream (HTML Standard §9.2.6): comments, other fields and events without data are passed over.
 * Ends with the stream, an unfinished event left out.
 */
export async function* readServerSentEvents(stream: Readable): AsyncGenerator<ServerSentEvent, void, void> {
  let id = ''
  let data: string[] = []
  for await (const line of readLines(stream)) {
    if (line === '') {
      if (data.length > 0) yield { id, data: data.join('\n') }
      data = []
      continue
    }
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (field === 'id') id = value
    if (field === 'data') data.push(value)
  }
}
