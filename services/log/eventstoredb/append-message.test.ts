import streams from '@eventstore/db-client/generated/streams_pb.js'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  fromExpectation,
  fromProposed,
  streamNameOf,
} from '../../../testing/eventstoredb-double/wire-messages.ts'
import { encodeRequest } from './append-message.ts'

const text = fc.string({ maxLength: 300, unit: 'grapheme' })

test('a request is what the package reads, whatever is in it', () => {
  const event = fc.record({ id: fc.uuid(), type: text, data: text, metadata: text })
  const expected = fc.oneof(fc.constantFrom('any', 'no-stream', 'stream-exists'), fc.maxSafeNat())
  fc.assert(
    fc.property(fc.uuid(), text, fc.array(event, { maxLength: 5 }), expected, (id, stream, events, at) => {
      const request = streams.BatchAppendReq.deserializeBinary(encodeRequest(id, stream, events, at))
      expect(request.getCorrelationId()?.getString()).toBe(id)
      expect(request.getIsFinal()).toBe(true)
      expect(streamNameOf(request.getOptions()?.getStreamIdentifier())).toBe(stream)
      expect(fromExpectation(request.getOptions())).toBe(at)
      const proposed = request.getProposedMessagesList().map(fromProposed)
      expect(
        proposed.map(({ headers, data, metadata, ...rest }) => ({
          id: rest.id,
          type: headers.get('type'),
          data: Buffer.from(data).toString(),
          metadata: Buffer.from(metadata).toString(),
        })),
      ).toEqual(events)
      for (const { headers } of proposed) expect(headers.get('content-type')).toBe('application/json')
    }),
  )
})
