import shared from '@eventstore/db-client/generated/shared_pb.js'
import statusMessages from '@eventstore/db-client/generated/status_pb.js'
import type {
  AppendReq,
  AppendResp,
  BatchAppendReq,
  BatchAppendResp,
} from '@eventstore/db-client/generated/streams_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import type { ServerDuplexStream, ServerReadableStream, sendUnaryData } from '@grpc/grpc-js'
import protobufAny from 'google-protobuf/google/protobuf/any_pb.js'
import protobufEmpty from 'google-protobuf/google/protobuf/empty_pb.js'
import { type AppendOutcome, type DoubleLog, MOST_BYTES } from './double-log.ts'
import type { Faults } from './faults.ts'
import {
  fromExpectation,
  fromProposed,
  setPosition,
  streamNameOf,
  toIdentifier,
  tombstonedError,
  tooLargeError,
} from './wire-messages.ts'

/** One append per call. */
export function handleAppend(
  call: ServerReadableStream<AppendReq, AppendResp>,
  callback: sendUnaryData<AppendResp>,
  log: DoubleLog,
  faults: Faults,
): void {
  const requests: AppendReq[] = []
  call.on('data', (request: AppendReq) => requests.push(request))
  call.on('end', () => {
    const options = requests[0]?.getOptions()
    const stream = streamNameOf(options?.getStreamIdentifier())
    const expected = fromExpectation(options)
    const proposed = requests.flatMap((request) => request.getProposedMessage() ?? []).map(fromProposed)
    faults.onAppend({
      commit: () => log.append(stream, proposed, expected),
      answer: (outcome) => {
        if (outcome.kind === 'tombstoned') callback(tombstonedError(stream))
        else if (outcome.kind === 'too-large') callback(tooLargeError())
        else callback(null, toAppendResp(outcome))
      },
      fail: callback,
      endSilently: () => call.destroy(),
    })
  })
}

function toAppendResp(outcome: Exclude<AppendOutcome, { kind: 'tombstoned' | 'too-large' }>): AppendResp {
  const response = new streams.AppendResp()
  if (outcome.kind === 'written') {
    const { last, isHidden } = outcome
    const success = new streams.AppendResp.Success().setCurrentRevision(String(last.revision))
    if (isHidden === true) return response.setSuccess(success.setNoPosition(new shared.Empty()))
    return response.setSuccess(
      success.setPosition(setPosition(new streams.AppendResp.Position(), last.position)),
    )
  }
  const wrong = new streams.AppendResp.WrongExpectedVersion()
  if (outcome.actual === -1) wrong.setCurrentNoStream(new shared.Empty())
  else wrong.setCurrentRevision(String(outcome.actual))
  return response.setWrongExpectedVersion(wrong)
}

/** Many appends on one stream, each in parts that share a correlation id. */
export function handleBatchAppend(
  call: ServerDuplexStream<BatchAppendReq, BatchAppendResp>,
  log: DoubleLog,
  faults: Faults,
): void {
  const parts = new Map<string, BatchAppendReq[]>()
  let isOver = false
  call.on('data', (request: BatchAppendReq) => {
    const id = request.getCorrelationId()?.getString() ?? ''
    const requests = [...(parts.get(id) ?? []), request]
    parts.set(id, requests)
    // A call that ended takes nothing more, also of what is on its way.
    if (isOver || !request.getIsFinal()) return
    parts.delete(id)
    const options = requests[0]?.getOptions()
    const stream = streamNameOf(options?.getStreamIdentifier())
    const expected = fromExpectation(options)
    const proposed = requests.flatMap((part) => part.getProposedMessagesList()).map(fromProposed)
    const response = new streams.BatchAppendResp()
      .setCorrelationId(new shared.UUID().setString(id))
      .setStreamIdentifier(toIdentifier(stream))
    faults.onAppend({
      // The deadline is an instant of the client's clock, held against ours.
      commit: () =>
        (options?.getDeadline()?.toDate().getTime() ?? Infinity) < faults.now()
          ? { kind: 'too-late' }
          : log.append(stream, proposed, expected),
      answer: (outcome) => call.write(fillBatchResp(response, outcome)),
      fail(error) {
        const refusal = ANSWERED_ALONE[error.details]
        if (refusal === undefined) {
          isOver = true
          call.emit('error', error)
        } else call.write(response.setError(statusOf(error.details, refusal())))
      },
      endSilently: () => call.end(),
    })
  })
  call.on('end', () => call.end())
}

type Detail = readonly [name: string, message: { serializeBinary(): Uint8Array }]

/** Refusals of one append, after which a server goes on with the others; any other failure ends the call. */
const ANSWERED_ALONE: Readonly<Record<string, (() => Detail) | undefined>> = {
  'Server Is Busy': () => ['google.protobuf.Empty', new protobufEmpty.Empty()],
  'Access Denied': () => ['event_store.client.AccessDenied', new shared.AccessDenied()],
  'Operation timed out': () => ['event_store.client.Timeout', new shared.Timeout()],
}

function statusOf(text: string, [name, message]: Detail) {
  const details = new protobufAny.Any()
  details.pack(message.serializeBinary(), name)
  return new statusMessages.Status().setMessage(text).setDetails(details)
}

function fillBatchResp(
  response: BatchAppendResp,
  outcome: AppendOutcome | { kind: 'too-late' },
): BatchAppendResp {
  if (outcome.kind === 'written') {
    const { last, isHidden } = outcome
    const success = new streams.BatchAppendResp.Success().setCurrentRevision(String(last.revision))
    if (isHidden === true) return response.setSuccess(success.setNoPosition(new protobufEmpty.Empty()))
    const position = setPosition(new shared.AllStreamPosition(), last.position)
    return response.setSuccess(success.setPosition(position))
  }
  return response.setError(
    statusOf(outcome.kind, detailOf(outcome, streamNameOf(response.getStreamIdentifier()))),
  )
}

function detailOf(
  outcome: Exclude<AppendOutcome, { kind: 'written' }> | { kind: 'too-late' },
  stream: string,
): Detail {
  if (outcome.kind === 'too-late') return ['event_store.client.Timeout', new shared.Timeout()]
  if (outcome.kind === 'tombstoned') {
    const deleted = new shared.StreamDeleted().setStreamIdentifier(toIdentifier(stream))
    return ['event_store.client.StreamDeleted', deleted]
  }
  if (outcome.kind === 'too-large') {
    const exceeded = new shared.MaximumAppendSizeExceeded().setMaxappendsize(MOST_BYTES)
    return ['event_store.client.MaximumAppendSizeExceeded', exceeded]
  }
  const wrong = new shared.WrongExpectedVersion()
  if (outcome.actual === -1) wrong.setCurrentNoStream(new protobufEmpty.Empty())
  else wrong.setCurrentStreamRevision(String(outcome.actual))
  return ['event_store.client.WrongExpectedVersion', wrong]
}
