import { unpackToCommandError } from '@eventstore/db-client/dist/streams/appendToStream/unpackError.js'
import type { ClientDuplexStream } from '@grpc/grpc-js'
import type { PlaceExpected } from '../event-store.ts'
import { type Appended, encodeRequest } from './append-message.ts'
import { isNeverBegun } from './client-error.ts'
import type { ProposedEvent } from './recorded-event.ts'

/** A call to the server over which many appends go, answered in any order. */
export type AppendCall = ClientDuplexStream<Buffer, Appended>

export interface SentAppend {
  readonly stream: string
  readonly events: readonly ProposedEvent[]
  readonly expected: PlaceExpected
  /** Whether it comes behind all others of its kind in the log, and not behind those of its stream alone. */
  readonly isInOrder: boolean
}

/** Appends on their way to the server. */
export type AppendLine = ReturnType<typeof createAppendLine>

interface Waiting {
  readonly stream: string
  readonly answer: PromiseWithResolvers<Appended>
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

/** gRPC sends one message of a call in a turn of the event loop, where many appends begin in one. */
const CALLS = 8
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
 * Sends appends over a few calls that stay open, those of a stream over the same. An HTTP/2 stream, its headers and its
 * end for each append cost four times what the append itself does. What ends a call ends it for all who wait, who then
 * learn from the log what became of theirs; the next append opens another. No deadline is sent: the server would hold it
 * against a clock of its own.
 */
export function createAppendLine(options: AppendLineOptions) {
  const { open, newId, hasMoved, onMoved } = options
  const current = new Map<number, Promise<Line>>()
  const lines = new Set<Line>()

  /** A leader that stands still breaks no connection; who waits for it asks the others whether they have another one. */
  async function lookAround(): Promise<void> {
    for (const line of lines) line.lookedAt = performance.now()
    // Where nobody can tell, the connection's own signs of life decide.
    const isElsewhere = await hasMoved().catch(() => false)
    if (!isElsewhere || [...lines].every(({ waiting }) => waiting.size === 0)) return
    leave()
    for (const line of lines) {
      line.isLeft = true
      endLine(line, new Error('another node leads by now'))
      line.call.cancel()
    }
    onMoved()
  }

  function watch(line: Line): void {
    lines.add(line)
    const timer = setInterval(() => {
      if (line.waiting.size > 0 && performance.now() - line.lookedAt >= SILENT_MS) void lookAround()
    }, LOOK_MS)
    timer.unref()
    line.call.on('close', () => {
      clearInterval(timer)
      lines.delete(line)
    })
  }

  function lineAt(place: number): Promise<Line> {
    const there = current.get(place)
    if (there !== undefined) return there
    const beginning = begin(open, () => {
      if (current.get(place) === beginning) current.delete(place)
    })
    current.set(place, beginning)
    beginning.then(watch, () => undefined)
    return beginning
  }

  function leave(): void {
    // One that could not be begun has told those who asked for it.
    for (const line of current.values()) line.then(leaveLine, () => undefined)
    current.clear()
  }

  return {
    /**
     * One try to append. The caller bounds the wait, and ends it by the signal. @throws what the server says of this
     * append, or what ended the call: then nobody knows whether it was written
     */
    async send({ stream, events, expected, isInOrder }: SentAppend, signal: AbortSignal): Promise<Appended> {
      const line = await lineAt(isInOrder ? 0 : placeOf(stream))
      // Nobody waits for it any more, and it was not sent.
      if (signal.aborted) throw new Error('given up before it was sent')
      const id = newId()
      const answer = Promise.withResolvers<Appended>()
      if (line.waiting.size === 0) line.lookedAt = performance.now()
      line.waiting.set(id, { stream, answer })
      signal.addEventListener('abort', () => forget(line, id))
      line.call.write(encodeRequest(id, stream, events, expected))
      return answer.promise
    },
    /** The next append goes over another call: who is asked over these does not answer. */
    leave,
  }
}

/** Which of the calls a stream takes. */
function placeOf(stream: string): number {
  let sum = 0
  for (let at = 0; at < stream.length; at++) sum = (sum * 31 + stream.charCodeAt(at)) | 0
  return Math.abs(sum % CALLS)
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
  call.on('data', (appended: Appended) => answerOne(line, appended))
  call.on('end', () => {
    end(new Error('the call ended without an answer'))
    call.end()
  })
  call.on('error', end)
  return line
}

function endLine({ waiting }: Line, error: unknown): void {
  const cause = isNeverBegun(error) ? error : brokenOff(error)
  for (const { answer } of waiting.values()) answer.reject(cause)
  waiting.clear()
}

function leaveLine(line: Line): void {
  line.isLeft = true
  if (line.waiting.size === 0) line.call.cancel()
}

function forget(line: Line, id: string): void {
  line.waiting.delete(id)
  if (line.isLeft) leaveLine(line)
}

/** An append that was under way when a call ended may have been written, even if the server reports a failure. */
const brokenOff = (error: unknown): Error =>
  new Error(error instanceof Error ? error.message : String(error), { cause: error })

function answerOne(line: Line, appended: Appended): void {
  line.lookedAt = performance.now()
  const waited = line.waiting.get(appended.id)
  // Its caller has given up.
  if (waited === undefined) return
  forget(line, appended.id)
  if (appended.refusal === undefined) waited.answer.resolve(appended)
  else waited.answer.reject(unpackToCommandError(appended.refusal, waited.stream))
}
