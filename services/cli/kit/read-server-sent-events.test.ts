import { Readable } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readLines } from './read-lines.ts'
import { readServerSentEvents, type ServerSentEvent } from './read-server-sent-events.ts'

/** A stream whose bytes come in pieces of the given lengths, and then all the rest. */
function inPieces(text: string, lengths: readonly number[]): Readable {
  const bytes = Buffer.from(text)
  const pieces: Buffer[] = []
  let at = 0
  for (const length of lengths) {
    pieces.push(bytes.subarray(at, at + length))
    at += length
  }
  pieces.push(bytes.subarray(at))
  return Readable.from(pieces.filter((piece) => piece.length > 0))
}

const lengths = fc.array(fc.integer({ min: 1, max: 5 }))

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

describe('lines', () => {
  test('are the same however the bytes are cut, also within a character', async () => {
    const line = fc.string({ unit: 'grapheme' }).filter((text) => !/[\r\n]/.test(text))
    await fc.assert(
      fc.asyncProperty(fc.array(line), fc.constantFrom('\n', '\r\n'), lengths, async (lines, end, cuts) => {
        const text = lines.map((one) => one + end).join('')
        expect(await collect(readLines(inPieces(text, cuts)))).toEqual(lines)
      }),
    )
  })

  test('end with one that has no end', async () => {
    expect(await collect(readLines(inPieces('a\nb', [])))).toEqual(['a', 'b'])
  })

  test('fail with their stream', async () => {
    const stream = Readable.from(
      (async function* () {
        yield Buffer.from('a\nb')
        throw new Error('cut')
      })(),
    )
    const seen: string[] = []
    const reading = (async () => {
      for await (const line of readLines(stream)) seen.push(line)
    })()
    await expect(reading).rejects.toThrow('cut')
    expect(seen).toEqual(['a'])
  })
})

describe('server-sent events', () => {
  const read = (text: string): Promise<ServerSentEvent[]> => collect(readServerSentEvents(inPieces(text, [])))

  test('are the same however the bytes are cut', async () => {
    const event = fc.record({
      id: fc.stringMatching(/^[0-9~]+$/),
      data: fc.jsonValue().map((v) => JSON.stringify(v)),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(event), lengths, async (events, cuts) => {
        const text = events.map(({ id, data }) => `id: ${id}\nevent: verdict\ndata: ${data}\n\n`).join('')
        expect(await collect(readServerSentEvents(inPieces(`retry: 1\n: hello\n\n${text}`, cuts)))).toEqual(
          events,
        )
      }),
    )
  })

  test('follow the grammar: comments, bare fields, one space, several lines, an unfinished end', async () => {
    expect(await read(': a\ndata:x\ndata:  y\ndata\nid\n\nid:7\ndata: z\n\ndata: cut')).toEqual([
      { id: '', data: 'x\n y\n' },
      { id: '7', data: 'z' },
    ])
    expect(await read('id: 7\n\ndata: a\n\n')).toEqual([{ id: '7', data: 'a' }])
  })
})
