import code from '@eventstore/db-client/generated/code_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import status from '@eventstore/db-client/generated/status_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  fromExpectation,
  fromProposed,
  streamNameOf,
  toIdentifier,
} from '../../../testing/eventstoredb-double/wire-messages.ts'
import { decodeAppended, encodeRequest } from './append-message.ts'

const text = fc.string({ maxLength: 300, unit: 'grapheme' })

test('a request is what the package reads, whatever is in it', () => {
  const event = fc.record({ id: fc.uuid(), type: text, data: text, metadata: text })
  const expected = fc.oneof(fc.constant('no-stream' as const), fc.maxSafeNat())
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

const number = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })

test('an answer is read as the package reads it', () => {
  const position = fc.option(fc.record({ commit: number, prepare: number }))
  fc.assert(
    fc.property(fc.uuid(), text, number, position, (id, stream, revision, place) => {
      const success = new streams.BatchAppendResp.Success().setCurrentRevision(String(revision))
      if (place === null) success.setNoPosition(new shared.Empty())
      else
        success.setPosition(
          new shared.AllStreamPosition()
            .setCommitPosition(String(place.commit))
            .setPreparePosition(String(place.prepare)),
        )
      const response = new streams.BatchAppendResp()
        .setCorrelationId(new shared.UUID().setString(id))
        .setSuccess(success)
        .setStreamIdentifier(toIdentifier(stream))
      expect(decodeAppended(Buffer.from(response.serializeBinary()))).toEqual({
        id,
        refusal: undefined,
        revision: Number(revision),
        position: place === null ? undefined : `${place.commit}/${place.prepare}`,
      })
    }),
  )
})

test('a refusal is what the package reads, and an answer that is cut off is refused', () => {
  const response = new streams.BatchAppendResp()
    .setCorrelationId(new shared.UUID().setString('0190a000-0000-7000-8000-000000000001'))
    .setError(new status.Status().setCode(code.Code.DEADLINE_EXCEEDED).setMessage('too late'))
  const bytes = Buffer.from(response.serializeBinary())
  expect(decodeAppended(bytes).refusal?.getMessage()).toBe('too late')
  expect(() => decodeAppended(bytes.subarray(0, 30))).toThrow('cut off')
})
