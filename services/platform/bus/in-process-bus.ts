import { ServiceError } from '../../../contracts/errors.ts'
import type { Json } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../async/clock.ts'
import {
  BUS_ACK_WAIT_MS,
  BUS_DUPLICATE_WINDOW_MS,
  type Bus,
  type ConsumeOptions,
  type Consumption,
  type ReportFault,
  type RequestHandler,
} from './bus.ts'
import { type ConsumerGroup, createConsumerGroup, type Member } from './in-process-consumers.ts'
import { createIntake } from './intake.ts'
import { decodeBody, encodeBody } from './message-body.ts'
import { createRecentIds } from './recent-ids.ts'
import { type AnswerRequest, answerRequests, nobodyAnswersError, readReply } from './request-answering.ts'
import {
  checkConsumerName,
  checkMaxInFlight,
  checkMessageId,
  checkPatterns,
  checkPublishedSubject,
  checkRequestSubject,
  matchesPattern,
} from './subjects.ts'
import { withinTime } from './within-time.ts'

/** Memory that messages waiting for one consumer name may take; past it the oldest are dropped. */
const CONSUMER_BACKLOG_BYTES = 67_108_864

export interface InProcessBusOptions extends Pick<Clock, 'now'> {
  readonly report: ReportFault
  readonly ackWaitMs?: number
  readonly backlogBytes?: number
}

/**
 * The bus of a single process: the default, and the same in what it promises as the one over NATS, except
 * that its messages end with the process.
 *
 * @example
 * const bus = createInProcessBus({ now: Date.now, report: (fault) => log.warn(fault) })
 */
export function createInProcessBus(options: InProcessBusOptions): Bus {
  const { now, report, ackWaitMs = BUS_ACK_WAIT_MS, backlogBytes = CONSUMER_BACKLOG_BYTES } = options
  const groups = new Map<string, { readonly pattern: string; readonly group: ConsumerGroup }>()
  const recentIds = createRecentIds({ now, windowMs: BUS_DUPLICATE_WINDOW_MS })
  const requests = createInProcessRequests(report)
  const closing = new AbortController()

  function checkOpen(): void {
    if (closing.signal.aborted) throw new ServiceError('bus_unavailable', { message: 'the bus is closed' })
  }

  function groupOf(name: string, pattern: string): ConsumerGroup {
    const key = `${name} ${pattern}`
    const known = groups.get(key)
    if (known !== undefined) return known.group
    const group = createConsumerGroup({ now, ackWaitMs, backlogBytes })
    groups.set(key, { pattern, group })
    return group
  }

  function consume({
    name,
    subjects,
    signal,
    maxInFlight = LIMITS.busInFlight,
  }: ConsumeOptions): Consumption {
    checkOpen()
    checkConsumerName(name)
    checkPatterns(subjects)
    checkMaxInFlight(maxInFlight)
    const left = new AbortController()
    const ending = AbortSignal.any([signal, closing.signal, left.signal])
    const intake = createIntake({ now, ackWaitMs, onEnd: () => left.abort() })
    for (const pattern of ending.aborted ? [] : subjects) {
      const group = groupOf(name, pattern)
      const queue = intake.queue({ maxInFlight, onRoom: group.dispatch })
      const member: Member = {
        room: queue.room,
        deliver({ message, redelivered, acknowledge, giveBack }) {
          const body = decodeBody(message.text)
          queue.accept({ id: message.id, subject: message.subject, body, redelivered, acknowledge, giveBack })
        },
      }
      // Leaving comes before the intake gives back, or what it gives back would come to it again.
      ending.addEventListener('abort', () => group.leave(member), { once: true })
      group.join(member)
    }
    if (ending.aborted) intake.end()
    else ending.addEventListener('abort', intake.end, { once: true })
    return { established: Promise.resolve(), [Symbol.asyncIterator]: intake.messages }
  }

  return {
    async publish({ id, subject, body }) {
      checkOpen()
      checkMessageId(id)
      checkPublishedSubject(subject)
      const text = encodeBody(subject, body)
      if (recentIds.seen(id)) return { duplicate: true }
      for (const { pattern, group } of groups.values()) {
        if (matchesPattern(pattern, subject)) group.offer({ id, subject, text })
      }
      return { duplicate: false }
    },

    consume,

    async request(subject, body, requestOptions) {
      checkOpen()
      return requests.request(subject, body, requestOptions)
    },

    serve(subject, handler, { signal }) {
      checkOpen()
      requests.serve(subject, handler, { signal: AbortSignal.any([signal, closing.signal]) })
    },

    async health() {
      let waiting = 0
      for (const { group } of groups.values()) waiting += group.pending()
      const detail = closing.signal.aborted ? 'closed' : `${waiting} messages waiting`
      return { ok: !closing.signal.aborted, adapter: 'in-process', detail }
    },

    async close() {
      closing.abort()
      for (const { group } of groups.values()) group.close()
      groups.clear()
      await requests.finish()
    },
  }
}

interface InProcessRequests {
  request(subject: string, body: Json, options: { readonly timeoutMs: number }): Promise<Json>
  serve(subject: string, handler: RequestHandler, options: { readonly signal: AbortSignal }): void
  /** Resolves when no answer is under way. */
  finish(): Promise<void>
}

/** Requests between parts of one process, as text like those between processes, so that nothing is shared. */
function createInProcessRequests(report: ReportFault): InProcessRequests {
  const servers = new Map<string, AnswerRequest[]>()
  const underWay = new Set<Promise<string>>()

  function follow(reply: Promise<string>): Promise<string> {
    const followed = reply.finally(() => underWay.delete(followed))
    underWay.add(followed)
    return followed
  }

  return {
    async request(subject, body, { timeoutMs }) {
      checkRequestSubject(subject)
      const text = encodeBody(subject, body)
      const answering = servers.get(subject)
      const answer = answering?.shift()
      if (answering === undefined || answer === undefined) {
        throw nobodyAnswersError(subject)
      }
      answering.push(answer)
      const reply = await withinTime(follow(answer(text)), timeoutMs, `the request to ${subject}`)
      return readReply(subject, reply)
    },

    serve(subject, handler, { signal }) {
      checkRequestSubject(subject)
      if (signal.aborted) return
      const answer = answerRequests(subject, handler, report)
      const answering = servers.get(subject) ?? []
      servers.set(subject, answering)
      answering.push(answer)
      signal.addEventListener('abort', () => answering.splice(answering.indexOf(answer), 1), { once: true })
    },

    async finish() {
      await Promise.all(underWay)
    },
  }
}
