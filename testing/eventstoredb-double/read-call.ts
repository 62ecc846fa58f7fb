import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import type { ServerWritableStream } from '@grpc/grpc-js'
import type { DoubleLog, LoggedEvent } from './double-log.ts'
import {
  caughtUpMessage,
  checkpointMessage,
  confirmationMessage,
  eventMessage,
  handlerFailedError,
  matcherOf,
  readFailedError,
  streamNameOf,
  streamNotFoundMessage,
  tombstonedError,
  tooSlowError,
} from './wire-messages.ts'

type ReadCall = ServerWritableStream<ReadReq, ReadResp>

const BACKWARDS = 1
const DEFAULT_SEARCH_WINDOW = 32
/** Events that wait for a live subscription before it is ended. */
const MOST_WAITING = 32

/** Reads of a stream or of the whole log, which include the place they start at. */
export async function handleRead(
  call: ReadCall,
  log: DoubleLog,
  onLogEvents: (count: number) => void,
): Promise<void> {
  const options = call.request.getOptions()
  const isBackwards = options?.getReadDirection() === BACKWARDS
  const limit = Number(options?.getCount() ?? 0)
  const streamOptions = options?.getStream()
  if (streamOptions === undefined) return readLog(call, log, isBackwards, limit, onLogEvents)
  if (limit === 0) return fail(call, readFailedError('ReadStreamResult'))
  const stream = streamNameOf(streamOptions.getStreamIdentifier())
  if (log.isTombstoned(stream)) return fail(call, tombstonedError(stream))
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

async function readLog(
  call: ReadCall,
  log: DoubleLog,
  isBackwards: boolean,
  limit: number,
  onLogEvents: (count: number) => void,
): Promise<void> {
  const start = startOf(call)
  const end = log.events.at(-1)?.position ?? 0n
  const isBeyond = typeof start === 'bigint' && start > end
  if (typeof start === 'bigint' && (!log.isPlace(start) || (isBeyond && isBackwards))) {
    return fail(call, readFailedError('ReadAllResult'))
  }
  const events = isBackwards
    ? log.events
        .filter((event) => start === 'end' || (start !== 'start' && event.position <= start))
        .toReversed()
    : log.events.filter((event) => start === 'start' || (start !== 'end' && event.position >= start))
  // Who looks for the end asks for some in one direction, and takes what it needs of them.
  if (!isBackwards) onLogEvents(Math.min(limit, events.length))
  return sendAndEnd(call, events.slice(0, limit))
}

function fail(call: ReadCall, error: Error): void {
  call.emit('error', error)
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

/** Begin of a read or subscription of the whole log. */
function startOf(call: ReadCall): bigint | 'start' | 'end' {
  const all = call.request.getOptions()?.getAll()
  if (all?.hasPosition() === true) return BigInt(all.getPosition()?.getCommitPosition() ?? 0)
  return all?.hasEnd() === true ? 'end' : 'start'
}

/** Subject of a subscription. */
interface Source {
  /** All that there is, oldest first. */
  readonly events: () => readonly LoggedEvent[]
  /** How many of them come before it begins. */
  readonly first: number
}

/**
 * Behind a place of the log. The server reads one event from there, and takes it for the one that was seen: behind a
 * place that was scavenged, the next one is left out.
 */
function logFrom(start: bigint | 'start' | 'end', log: DoubleLog): Source {
  const at = typeof start === 'bigint' ? log.events.findIndex(({ position }) => position >= start) : -1
  const first = start === 'start' ? 0 : start === 'end' || at === -1 ? log.events.length : at + 1
  return { events: () => log.events, first }
}

function sourceOf(call: ReadCall, log: DoubleLog): Source | Error {
  const streamOptions = call.request.getOptions()?.getStream()
  if (streamOptions === undefined) {
    const start = startOf(call)
    if (typeof start === 'bigint' && !log.isPlace(start)) return handlerFailedError()
    return logFrom(start, log)
  }
  const stream = streamNameOf(streamOptions.getStreamIdentifier())
  if (log.isTombstoned(stream)) return tombstonedError(stream)
  const events = (): readonly LoggedEvent[] => log.visible(stream)
  if (streamOptions.hasRevision()) return { events, first: Number(streamOptions.getRevision()) + 1 }
  return { events, first: streamOptions.hasEnd() ? events().length : 0 }
}

/** A subscription, which excludes the place it starts at. One that has caught up must take what comes at once. */
export async function handleSubscribe(call: ReadCall, log: DoubleLog, onSent: () => void): Promise<void> {
  const filter = call.request.getOptions()?.getFilter()
  const isMatch = matcherOf(filter)
  const window = filter?.hasMax() === true ? filter.getMax() : DEFAULT_SEARCH_WINDOW
  const checkpointEvery = filter === undefined ? Infinity : window * filter.getCheckpointintervalmultiplier()
  const source = sourceOf(call, log)
  if (source instanceof Error) return fail(call, source)
  let index = source.first
  let considered = 0
  let isCaughtUp = false
  /** Begin of the page that is read while it catches up, as the server names it. */
  let page: bigint | undefined
  let wake: () => void = () => undefined
  const unlisten = log.onAppend(() => wake())
  call.once('cancelled', () => wake())

  await send(call, confirmationMessage())
  while (!call.cancelled && !call.destroyed && !call.writableEnded) {
    const events = source.events()
    if (isCaughtUp && events.length - index > MOST_WAITING) {
      fail(call, tooSlowError())
      break
    }
    const event = events[index]
    if (event !== undefined) {
      index += 1
      considered += 1
      page ??= event.position
      if (isMatch(event)) {
        await send(call, eventMessage(event))
        onSent()
      }
      if (considered % checkpointEvery === 0) {
        await send(call, isCaughtUp ? checkpointMessage(event.position) : checkpointMessage(page, 0n))
        page = undefined
      }
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
