import { convertGrpcEvent } from '@eventstore/db-client/dist/utils/index.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  caughtUpMessage,
  checkpointMessage,
  confirmationMessage,
  streamNameOf,
  streamNotFoundMessage,
} from '../../../testing/eventstoredb-double/wire-messages.ts'
import { decodeAnswer, encodeRead, ServerEvent } from './read-message.ts'
import { encodeMessage, message } from './wire-format.ts'

const { ReadResp } = streams
const text = fc.string({ maxLength: 60, unit: 'grapheme' })
const long = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
const json = fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' }).map((value) => JSON.stringify(value))
const content = fc.oneof(
  json.map((value) => Buffer.from(value)),
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
)

/** An event as the package writes it. */
const record = fc
  .record({
    id: fc.oneof(
      fc.uuid({ version: 4 }),
      fc
        .uuid({ version: 4 })
        .map((id) => [
          BigInt(`0x${id.replaceAll('-', '').slice(0, 16)}`),
          BigInt(`0x${id.replaceAll('-', '').slice(16)}`),
        ]),
    ),
    stream: text.filter((name) => name !== ''),
    revision: long,
    commit: long,
    prepare: long,
    properties: fc.record(
      {
        type: text,
        'content-type': fc.constantFrom('application/json', 'application/octet-stream', ''),
        created: fc.bigInt({ min: 0n, max: 8n * 10n ** 19n }).map(String),
        another: text,
      },
      { requiredKeys: ['type'] },
    ),
    metadata: content,
    data: content,
  })
  .map(({ id, stream, revision, commit, prepare, properties, metadata, data }) => {
    const recorded = new ReadResp.ReadEvent.RecordedEvent()
      .setId(uuidOf(id))
      .setStreamIdentifier(
        new shared.StreamIdentifier().setStreamName(Buffer.from(stream).toString('base64')),
      )
      .setStreamRevision(String(revision))
      .setCommitPosition(String(commit))
      .setPreparePosition(String(prepare))
      .setCustomMetadata(metadata)
      .setData(data)
    for (const [name, value] of Object.entries(properties)) recorded.getMetadataMap().set(name, value)
    return recorded
  })

function uuidOf(id: string | bigint[]) {
  if (typeof id === 'string') return new shared.UUID().setString(id)
  const [most, least] = id.map((half) => String(BigInt.asIntN(64, half))) as [string, string]
  const bits = new shared.UUID.Structured().setMostSignificantBits(most).setLeastSignificantBits(least)
  return new shared.UUID().setStructured(bits)
}

const eventAnswer = fc
  .record({ event: fc.option(record), link: fc.option(record), commit: fc.option(long) })
  .map(({ event, link, commit }) => {
    const given = new ReadResp.ReadEvent()
    if (event !== null) given.setEvent(event)
    if (link !== null) given.setLink(link)
    if (commit === null) given.setNoPosition(new shared.Empty())
    else given.setCommitPosition(String(commit))
    return new ReadResp().setEvent(given)
  })
const answer = fc.oneof(
  { weight: 5, arbitrary: eventAnswer },
  fc.constantFrom(
    caughtUpMessage(),
    confirmationMessage(),
    new ReadResp().setFellBehind(new ReadResp.FellBehind()),
    new ReadResp().setFirstStreamPosition('7'),
  ),
  long.map((position) => checkpointMessage(position)),
  text.map(streamNotFoundMessage),
)

/** Fields that no version of the protocol has yet, of all forms that there are. */
const unknown = fc
  .array(
    fc.oneof(
      fc
        .tuple(fc.integer({ min: 10, max: 15 }), fc.oneof(fc.maxSafeNat(), text))
        .map((field) => encodeMessage([field])),
      fc.uint8Array({ minLength: 4, maxLength: 4 }).map((bytes) => Buffer.from([0xa5, 0x06, ...bytes])),
      fc.uint8Array({ minLength: 8, maxLength: 8 }).map((bytes) => Buffer.from([0xa1, 0x06, ...bytes])),
    ),
    { maxLength: 3 },
  )
  .map((fields) => Buffer.concat(fields))

const bytesOf = (given: InstanceType<typeof ReadResp>): Buffer => Buffer.from(given.serializeBinary())
const parsed = (given: string): unknown => {
  try {
    return JSON.parse(given)
  } catch {
    return given
  }
}

/** The part of an answer that this service needs, by the package's own code. */
function expectedOf(bytes: Buffer) {
  const given = ReadResp.deserializeBinary(bytes)
  if (given.hasCaughtUp()) return 'caught-up'
  const event = given.getEvent()
  if (event?.getEvent() === undefined) return 'other'
  const recorded = convertGrpcEvent(event).event
  if (recorded?.position === undefined) throw new Error('the package found no event')
  return {
    stream: recorded.streamId,
    type: recorded.type,
    isJson: recorded.isJson,
    revision: Number(recorded.revision),
    position: `${recorded.position.commit}/${recorded.position.prepare}`,
    created: recorded.created.getTime(),
    data: recorded.isJson ? recorded.data : Buffer.from(recorded.data).toString(),
    metadata: Buffer.from(event.getEvent()?.getCustomMetadata_asU8() ?? []).toString(),
  }
}

function shownOf(given: ReturnType<typeof decodeAnswer>) {
  if (!(given instanceof ServerEvent)) return given
  const { stream, type, isJson, revision, position, created, data, metadata } = given
  return {
    stream,
    type,
    isJson,
    revision,
    position,
    metadata,
    created: Date.parse(created),
    data: isJson ? parsed(data) : data,
  }
}

describe('an answer', () => {
  test('is read as the package reads it, whatever is in it and beside it', () => {
    fc.assert(
      fc.property(answer, unknown, unknown, (given, before, behind) => {
        const bytes = Buffer.concat([before, bytesOf(given), behind])
        expect(shownOf(decodeAnswer(bytes))).toEqual(expectedOf(bytes))
      }),
      { numRuns: 500 },
    )
  })

  test('with unknown fields inside of its parts is read, too', () => {
    fc.assert(
      fc.property(record, unknown, (given, more) => {
        const part = Buffer.concat([more, Buffer.from(given.serializeBinary()), more])
        const bytes = wrapped(1, Buffer.concat([more, wrapped(1, part), more]))
        expect(shownOf(decodeAnswer(bytes))).toEqual(expectedOf(bytes))
      }),
    )
  })

  test('that is cut off anywhere is refused, or is what the rest says', () => {
    fc.assert(
      fc.property(
        eventAnswer,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (given, share) => {
          const bytes = bytesOf(given)
          const cut = bytes.subarray(0, Math.floor(bytes.length * share))
          if (cut.length === 0) expect(decodeAnswer(cut)).toBe('other')
          else expect(() => decodeAnswer(cut)).toThrow('a message of EventStoreDB is cut off, or is none')
        },
      ),
    )
  })

  test.each([
    ['a number without an end', [0x28, ...Array<number>(12).fill(0xff)]],
    ['a length past its end', [0x0a, 0x7f, 0x00]],
    ['a length past the end of its part', [0x0a, 0x03, 0x0a, 0x05, 0x00, 0x00, 0x00]],
    ['a group', [0x0b, 0x0c]],
    ['a field of number 0', [0x00, 0x00]],
  ])('with %s is refused', (_, bytes) => {
    expect(() => decodeAnswer(Buffer.from(bytes))).toThrow(RangeError)
  })

  test('of anything ends, with an answer or a refusal', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          decodeAnswer(Buffer.from(bytes))
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError)
        }
      }),
    )
  })

  test('with an event of no stream is refused', () => {
    const bytes = bytesOf(
      new ReadResp().setEvent(new ReadResp.ReadEvent().setEvent(new ReadResp.ReadEvent.RecordedEvent())),
    )
    expect(() => decodeAnswer(bytes)).toThrow('an event of EventStoreDB has no stream')
  })
})

/** A part of a message. */
function wrapped(field: number, part: Buffer): Buffer {
  const length = encodeMessage([[field, part.length]]).subarray(1)
  return Buffer.concat([Buffer.from([field * 8 + 2]), length, part])
}

describe('a request is what the package reads', () => {
  const optionsOf = (bytes: Buffer) => {
    const options = streams.ReadReq.deserializeBinary(bytes).getOptions()
    if (options === undefined) throw new Error('a request has options')
    expect(options.getUuidOption()?.hasString()).toBe(true)
    expect(options.getResolveLinks()).toBe(false)
    return options
  }
  const count = fc.maxSafeNat()

  test('for a stream', () => {
    const from = fc.oneof(fc.constantFrom('start' as const, 'end' as const), fc.maxSafeNat())
    fc.assert(
      fc.property(text, from, fc.boolean(), count, (stream, place, isBackwards, most) => {
        const direction = isBackwards ? 'backwards' : 'forwards'
        const options = optionsOf(encodeRead({ stream, from: place, direction, maxCount: most }))
        expect(streamNameOf(options.getStream()?.getStreamIdentifier())).toBe(stream)
        expect(options.getStream()?.hasStart()).toBe(place === 'start')
        expect(options.getStream()?.hasEnd()).toBe(place === 'end')
        if (typeof place === 'number') expect(options.getStream()?.getRevision()).toBe(String(place))
        expect(options.getReadDirection()).toBe(isBackwards ? 1 : 0)
        expect(options.getCount()).toBe(String(most))
        expect(options.hasNoFilter()).toBe(true)
        expect(options.hasSubscription()).toBe(false)
      }),
    )
  })

  const place = fc.record({ commit: count, prepare: count })
  const fieldOf = (given: { commit: number; prepare: number } | 'start' | 'end') =>
    typeof given === 'string' ? given : message(1, [1, given.commit], [2, given.prepare])

  test('for the log', () => {
    const from = fc.oneof(fc.constantFrom('start' as const, 'end' as const), place)
    fc.assert(
      fc.property(from, fc.boolean(), count, (given, isBackwards, most) => {
        const options = optionsOf(
          encodeRead({
            from: fieldOf(given),
            direction: isBackwards ? 'backwards' : 'forwards',
            maxCount: most,
          }),
        )
        const all = options.getAll()
        expect(all?.hasStart()).toBe(given === 'start')
        expect(all?.hasEnd()).toBe(given === 'end')
        if (typeof given === 'object') {
          expect(all?.getPosition()?.getCommitPosition()).toBe(String(given.commit))
          expect(all?.getPosition()?.getPreparePosition()).toBe(String(given.prepare))
        }
        expect(options.getReadDirection()).toBe(isBackwards ? 1 : 0)
        expect(options.getCount()).toBe(String(most))
        expect(options.hasNoFilter()).toBe(true)
      }),
    )
  })

  test('for a subscription', () => {
    fc.assert(
      fc.property(place, fc.integer({ min: 1, max: 10_000 }), (given, window) => {
        const options = optionsOf(encodeRead({ from: fieldOf(given), searchWindow: window }))
        expect(options.hasSubscription()).toBe(true)
        expect(options.getAll()?.getPosition()?.getCommitPosition()).toBe(String(given.commit))
        expect(options.getFilter()?.getStreamIdentifier()?.getRegex()).toBe('^[^$]')
        expect(options.getFilter()?.getMax()).toBe(window)
        expect(options.getFilter()?.getCheckpointintervalmultiplier()).toBe(1)
      }),
    )
  })
})
