import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import type { ServerWritableStream } from '@grpc/grpc-js'
import type { DoubleLog, LoggedEvent } from './double-log.ts'
import {
  caughtUpMessage,
  checkpointMessage,
  confirmationMessage,
  eventMessage,
  matcherOf,
  streamNameOf,
  streamNotFoundMessage,
  tombstonedError,
} from './wire-messages.ts'

type ReadCall = ServerWritableStream<ReadReq, ReadResp>

const BACKWARDS = 1
const DEFAULT_SEARCH_WINDOW = 32

/** Reads of a stream or of the whole log, which include the place they start at. */
export async function handleRead(call: ReadCall, log: DoubleLog): Promise<void> {
  const options = call.request.getOptions()
  const isBackwards = options?.getReadDirection() === BACKWARDS
  const limit = Number(options?.getCount() ?? 0)
  const streamOptions = options?.getStream()
  if (streamOptions === undefined) {
    const from = startPosition(call, log)
    const events = isBackwards
      ? log.events.filter((event) => event.position <= from).toReversed()
      : log.events.filter((event) => event.position >= from)
    return sendAndEnd(call, events.slice(0, limit))
  }
  const stream = streamNameOf(streamOptions.getStreamIdentifier())
  if (log.isTombstoned(stream)) {
    call.emit('error', tombstonedError(stream))
    return
  }
  const visible = log.visible(stream)
  if (visible.length === 0) {
    await send(call, streamNotFoundMessage(stream))
    call.end()
    return
  }
  const from = streamOptions.hasRevision() ? Number(streamOptions.getRevision()) : isBackwards ? Infinity : 0
  const events = isBackwards
    ? visible.filter((event) => event.revision <= from).toReversed()
    : visible.filter((event) => event.revision >= from)
  return sendAndEnd(call, events.slice(0, limit))
}

async function sendAndEnd(call: ReadCall, events: readonly LoggedEvent[]): Promise<void> {
  for (const event of events) {
    if (call.cancelled) return
    await send(call, eventMessage(event))
  }
  call.end()
}

/** Resolves when the next message may be sent: what the client does not take is not sent. */
function send(call: ReadCall, message: ReadResp): Promise<void> | void {
  if (call.write(message)) return
  return new Promise((resolve) => {
    const end = (): void => {
      call.off('drain', end)
      call.off('cancelled', end)
      resolve()
    }
    call.on('drain', end)
    call.on('cancelled', end)
  })
}

/** Position that a read or subscription of the whole log names; after the last one for `end`. */
function startPosition(call: ReadCall, log: DoubleLog): bigint {
  const all = call.request.getOptions()?.getAll()
  if (all?.hasPosition() === true) return BigInt(all.getPosition()?.getCommitPosition() ?? 0)
  return all?.hasEnd() === true ? (log.events.at(-1)?.position ?? 0n) : -1n
}

/** A subscription to the whole log, which excludes the place it starts at. */
export async function handleSubscribe(call: ReadCall, log: DoubleLog, onSent: () => void): Promise<void> {
  const filter = call.request.getOptions()?.getFilter()
  const isMatch = matcherOf(filter)
  const window = filter?.hasMax() === true ? filter.getMax() : DEFAULT_SEARCH_WINDOW
  const checkpointEvery = filter === undefined ? Infinity : window * filter.getCheckpointintervalmultiplier()
  const start = startPosition(call, log)
  let index = log.events.findIndex((event) => event.position > start)
  if (index === -1) index = log.events.length
  let considered = 0
  let isCaughtUp = false
  let wake: () => void = () => undefined
  const unlisten = log.onAppend(() => wake())
  call.once('cancelled', () => wake())

  await send(call, confirmationMessage())
  while (!call.cancelled && !call.destroyed && !call.writableEnded) {
    const event = log.events[index]
    if (event !== undefined) {
      index += 1
      considered += 1
      if (isMatch(event)) {
        await send(call, eventMessage(event))
        onSent()
      }
      if (considered % checkpointEvery === 0) await send(call, checkpointMessage(event.position))
      continue
    }
    if (!isCaughtUp) {
      isCaughtUp = true
      await send(call, caughtUpMessage())
      continue
    }
    await new Promise<void>((resolve) => {
      wake = resolve
    })
  }
  unlisten()
}
