import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { Bus, BusRequests, ReportFault } from './bus.ts'
import { encodeBody } from './message-body.ts'
import {
  type AnswerRequest,
  answerRequests,
  nobodyAnswersError,
  readReply,
  withinTime,
} from './request-answering.ts'
import { checkSubject } from './subjects.ts'

/** The bus of a single process, which is the default. */
export function createInProcessBus({ report }: { readonly report: ReportFault }): Bus {
  const listeners = new Map<string, Set<() => void>>()
  const requests = createInProcessRequests(report)
  const closing = new AbortController()

  function check(subject: string): void {
    if (closing.signal.aborted)
      throw new ServiceError('dependency_unavailable', { message: 'the bus is closed' })
    checkSubject(subject)
  }
  const untilClosed = (signal: AbortSignal): AbortSignal => AbortSignal.any([signal, closing.signal])

  return {
    async notify(subject) {
      check(subject)
      for (const listener of listeners.get(subject) ?? []) listener()
    },
    listen(subject, listener, { signal }) {
      check(subject)
      if (signal.aborted) return
      const listening = listeners.get(subject) ?? new Set()
      listeners.set(subject, listening.add(listener))
      untilClosed(signal).addEventListener('abort', () => listening.delete(listener), { once: true })
    },
    async request(subject, body, options) {
      check(subject)
      return requests.request(subject, body, options)
    },
    serve(subject, handler, { signal }) {
      check(subject)
      requests.serve(subject, handler, { signal: untilClosed(signal) })
    },
    async health() {
      const ok = !closing.signal.aborted
      return { ok, adapter: 'in-process', detail: ok ? 'open' : 'closed' }
    },
    async close() {
      closing.abort()
      await requests.finish()
    },
  }
}

/** Requests between parts of one process. They travel as text, as between processes, so that nothing is shared. */
function createInProcessRequests(report: ReportFault): BusRequests {
  const servers = new Map<string, AnswerRequest[]>()
  const underWay = new Set<Promise<string>>()

  function follow(reply: Promise<string>): Promise<string> {
    const followed = reply.finally(() => underWay.delete(followed))
    underWay.add(followed)
    return followed
  }

  return {
    async request(subject, body, { timeoutMs }) {
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
