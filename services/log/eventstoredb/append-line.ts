import type { Position as LogPosition } from '@eventstore/db-client'
import { unpackToCommandError } from '@eventstore/db-client/dist/streams/appendToStream/unpackError.js'
import type { BatchAppendResp } from '@eventstore/db-client/generated/streams_pb.js'
import type { ClientDuplexStream } from '@grpc/grpc-js'
import type { Revision } from '../../../contracts/event.ts'
import type { ExpectedRevision } from '../event-store.ts'
import { encodeRequest } from './append-message.ts'
import { isNeverBegun } from './client-error.ts'
import type { ProposedEvent } from './recorded-event.ts'

/** The server's answer to an append. */
export interface ServerAnswer {
  /** Revision of the last event of the append. */
  readonly revision: Revision
  /** Undefined where the server wrote nothing, because it did earlier. */
  readonly position: LogPosition | undefined
}

/** A call to the server over which many appends go, answered in any order. */
export interface AppendCall {
  readonly stream: ClientDuplexStream<Buffer, BatchAppendResp>
  /** Receives the error that ended it, so that the next one goes to the leader of that moment. */
  readonly failed: (error: unknown) => void
}

/** Appends on their way to the server. */
export interface AppendLine {
  /**
   * One try to append. The caller bounds the wait, and ends it by the signal. @throws what the server says of this
   * append, or what ended the call: then nobody knows whether it was written
   */
  send(
    append: { stream: string; events: readonly ProposedEvent[]; expected: ExpectedRevision },
    signal: AbortSignal,
  ): Promise<ServerAnswer>
  /** The next append goes over another call: who is asked over this one does not answer. */
  leave(): void
  close(): void
}

interface Waiting {
  readonly stream: string
  readonly answer: PromiseWithResolvers<ServerAnswer>
}

/** An open call, and those who wait for its answers, by correlation id. */
interface Line {
  readonly call: AppendCall
  readonly waiting: Map<string, Waiting>
  /** Whether it takes nothing more, and ends with its last answer. */
  isLeft: boolean
  /** When there was an answer, or it was looked around, or nobody waited: of a clock that is never set. */
  lookedAt: number
}

/** So long without any answer is no sign of health, and how often it is looked. */
const [SILENT_MS, LOOK_MS] = [1_500, 500]

export interface AppendLineOptions {
  readonly open: () => Promise<AppendCall>
  readonly newId: () => string
  /** Whether another node leads by now than the one that is asked. */
  readonly hasMoved: () => Promise<boolean>
  /** Told that one does. */
  readonly onMoved: () => void
}

/**
 * Sends all appends over one call that stays open. An HTTP/2 stream, its headers and its end for each append cost four
 * times what the append itself does. What ends the call ends it for all who wait, who then learn from the log what
 * became of theirs; the next append opens another. No deadline is sent: the server would hold it against a clock of its
 * own.
 */
export function createAppendLine(options: AppendLineOptions): AppendLine {
  const { open, newId, hasMoved, onMoved } = options
  let current: Promise<Line> | undefined

  /** A leader that stands still breaks no connection; who waits for it asks the others whether they have another one. */
  async function lookAround(line: Line): Promise<void> {
    line.lookedAt = performance.now()
    // Where nobody can tell, the connection's own signs of life decide.
    const isElsewhere = await hasMoved().catch(() => false)
    if (!isElsewhere || line.waiting.size === 0) return
    leave()
    line.isLeft = true
    endLine(line, new Error('another node leads by now'))
    line.call.stream.cancel()
    onMoved()
  }

  function watch(line: Line): void {
    const timer = setInterval(() => {
      if (line.isLeft && line.waiting.size === 0) clearInterval(timer)
      else if (line.waiting.size > 0 && performance.now() - line.lookedAt >= SILENT_MS)
        lookAround(line).catch(line.call.failed)
    }, LOOK_MS)
    timer.unref()
    line.call.stream.on('close', () => clearInterval(timer))
  }

  function lineNow(): Promise<Line> {
    if (current !== undefined) return current
    const beginning = begin(open, () => {
      if (current === beginning) current = undefined
    })
    current = beginning
    beginning.then(watch, () => undefined)
    return beginning
  }

  function leave(): void {
    // One that could not be begun has told those who asked for it.
    current?.then(leaveLine, () => undefined)
    current = undefined
  }

  return {
    async send({ stream, events, expected }, signal) {
      const line = await lineNow()
      // Nobody waits for it any more, and it was not sent.
      if (signal.aborted) throw new Error('given up before it was sent')
      const id = newId()
      const answer = Promise.withResolvers<ServerAnswer>()
      if (line.waiting.size === 0) line.lookedAt = performance.now()
      line.waiting.set(id, { stream, answer })
      signal.addEventListener('abort', () => forget(line, id))
      line.call.stream.write(encodeRequest(id, stream, events, expected))
      return answer.promise
    },
    leave,
    close: leave,
  }
}

/** @param onEnd told as soon as nothing more can be sent over it */
async function begin(open: () => Promise<AppendCall>, onEnd: () => void): Promise<Line> {
  const call = await open().catch((error: unknown) => {
    onEnd()
    throw error
  })
  const line: Line = { call, waiting: new Map(), isLeft: false, lookedAt: performance.now() }
  const end = (error: unknown): void => {
    onEnd()
    endLine(line, error)
  }
  call.stream.on('data', (response: BatchAppendResp) => answerOne(line, response))
  call.stream.on('end', () => end(new Error('the call ended without an answer')))
  call.stream.on('error', (error: unknown) => {
    end(error)
    if (!line.isLeft) call.failed(error)
  })
  return line
}

function endLine({ waiting }: Line, error: unknown): void {
  const cause = isNeverBegun(error) ? error : brokenOff(error)
  for (const { answer } of waiting.values()) answer.reject(cause)
  waiting.clear()
}

function leaveLine(line: Line): void {
  line.isLeft = true
  if (line.waiting.size === 0) line.call.stream.cancel()
}

function forget(line: Line, id: string): void {
  line.waiting.delete(id)
  if (line.isLeft) leaveLine(line)
}

/** An append that was under way when a call ended may have been written, even if the server reports a failure. */
const brokenOff = (error: unknown): Error =>
  new Error(error instanceof Error ? error.message : String(error), { cause: error })

function answerOne(line: Line, response: BatchAppendResp): void {
  line.lookedAt = performance.now()
  const id = response.getCorrelationId()?.getString() ?? ''
  const waited = line.waiting.get(id)
  // Its caller has given up.
  if (waited === undefined) return
  forget(line, id)
  const [refusal, success] = [response.getError(), response.getSuccess()]
  if (refusal !== undefined) return waited.answer.reject(unpackToCommandError(refusal, waited.stream))
  const place = success?.getPosition()
  waited.answer.resolve({
    revision: Number(success?.getCurrentRevision()),
    position: place && {
      commit: BigInt(place.getCommitPosition()),
      prepare: BigInt(place.getPreparePosition()),
    },
  })
}
