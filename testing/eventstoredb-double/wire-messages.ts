import type { StreamIdentifier } from '@eventstore/db-client/generated/shared_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import type {
  AppendReq,
  BatchAppendReq,
  ReadReq,
  ReadResp,
} from '@eventstore/db-client/generated/streams_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import { Metadata, type ServiceError, status } from '@grpc/grpc-js'
import type { Expectation, LoggedEvent, ProposedEvent } from './double-log.ts'

const { ReadEvent } = streams.ReadResp

export const streamNameOf = (identifier: StreamIdentifier | undefined): string =>
  Buffer.from(identifier?.getStreamName_asU8() ?? []).toString('utf8')

export const toIdentifier = (stream: string): StreamIdentifier =>
  new shared.StreamIdentifier().setStreamName(Buffer.from(stream).toString('base64'))

export function fromProposed(
  message: AppendReq.ProposedMessage | BatchAppendReq.ProposedMessage,
): ProposedEvent {
  return {
    id: message.getId()?.getString() ?? '',
    headers: new Map(message.getMetadataMap().entries()),
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  }
}

/** Expected revision of an Append; a BatchAppend calls the same thing a stream position. */
export function fromExpectation(
  options: AppendReq.Options | BatchAppendReq.Options | undefined,
): Expectation {
  if (options === undefined || options.hasAny()) return 'any'
  if (options.hasNoStream()) return 'no-stream'
  if (options.hasStreamExists()) return 'stream-exists'
  return Number('getRevision' in options ? options.getRevision() : options.getStreamPosition())
}

/** The largest of its numbers. */
const TOMBSTONE_REVISION = '9223372036854775807'

export function eventMessage(event: LoggedEvent): ReadResp {
  const recorded = setPosition(new ReadEvent.RecordedEvent(), event.position)
    .setId(new shared.UUID().setString(event.id))
    .setStreamIdentifier(toIdentifier(event.stream))
    .setStreamRevision(event.revision === Infinity ? TOMBSTONE_REVISION : String(event.revision))
    .setCustomMetadata(event.metadata)
    .setData(event.data)
  for (const [name, value] of event.headers) recorded.getMetadataMap().set(name, value)
  // Ticks of 100 ns since the Unix epoch.
  recorded.getMetadataMap().set('created', String(BigInt(event.createdMs) * 10_000n))
  return new streams.ReadResp().setEvent(
    new ReadEvent().setEvent(recorded).setCommitPosition(String(event.position)),
  )
}

/** Both numbers of any message that holds a position. */
export const setPosition = <
  Message extends { setCommitPosition(value: string): Message; setPreparePosition(value: string): Message },
>(
  message: Message,
  position: bigint,
): Message => message.setCommitPosition(String(position)).setPreparePosition(String(position))

export const checkpointMessage = (commit: bigint, prepare = commit): ReadResp =>
  new streams.ReadResp().setCheckpoint(
    setPosition(new streams.ReadResp.Checkpoint(), commit).setPreparePosition(String(prepare)),
  )

export const confirmationMessage = (): ReadResp =>
  new streams.ReadResp().setConfirmation(
    new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId(crypto.randomUUID()),
  )

export const caughtUpMessage = (): ReadResp =>
  new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp())

export const streamNotFoundMessage = (stream: string): ReadResp =>
  new streams.ReadResp().setStreamNotFound(
    new streams.ReadResp.StreamNotFound().setStreamIdentifier(toIdentifier(stream)),
  )

/** Which events a subscription's filter lets through. */
export function matcherOf(
  filter: ReadReq.Options.FilterOptions | undefined,
): (event: LoggedEvent) => boolean {
  if (filter === undefined) return () => true
  const isOnStream = filter.hasStreamIdentifier()
  const expression = isOnStream ? filter.getStreamIdentifier() : filter.getEventType()
  const prefixes = expression?.getPrefixList() ?? []
  const regex = new RegExp(expression?.getRegex() ?? '')
  return (event) => {
    const text = isOnStream ? event.stream : (event.headers.get('type') ?? '')
    return prefixes.length > 0 ? prefixes.some((prefix) => text.startsWith(prefix)) : regex.test(text)
  }
}

/** A gRPC error with the trailers by which the client knows the server's exceptions. */
export function rpcError(code: status, details: string, trailers: Record<string, string> = {}): ServiceError {
  const metadata = new Metadata()
  for (const [name, value] of Object.entries(trailers)) metadata.set(name, value)
  return Object.assign(new Error(details), { code, details, metadata })
}

export const tombstonedError = (stream: string): ServiceError =>
  rpcError(status.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, {
    exception: 'stream-deleted',
    'stream-name': stream,
  })

export const tooLargeError = (): ServiceError =>
  rpcError(status.INVALID_ARGUMENT, 'Maximum Append Size of 1048576 Exceeded.', {
    exception: 'maximum-append-size-exceeded',
    'maximum-append-size': '1048576',
  })

/** A read from a position at which no record begins, or of nothing. */
export const readFailedError = (what: 'ReadAllResult' | 'ReadStreamResult'): ServiceError =>
  rpcError(status.UNKNOWN, `Unexpected ${what}: Error`)

/** A subscription from such a position. */
export const handlerFailedError = (): ServiceError =>
  rpcError(status.UNKNOWN, 'Exception was thrown by handler.')

/** More than a few events wait for a subscription that had caught up. */
export const tooSlowError = (): ServiceError =>
  rpcError(
    status.ABORTED,
    'Operation timed out: Consumer too slow to handle event while live. Client resubscription required.',
  )

export const deleteMissingError = (stream: string): ServiceError =>
  rpcError(
    status.FAILED_PRECONDITION,
    `Delete failed due to WrongExpectedVersion. Stream: ${stream}, Expected version: -2, Actual version: -1`,
    {
      exception: 'wrong-expected-version',
      'stream-name': stream,
      'expected-version': '-2',
      'actual-version': '-1',
    },
  )
