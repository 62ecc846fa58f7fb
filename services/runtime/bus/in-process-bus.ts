import type { Bus, ReportFault } from './bus.ts'
import {
  type AnswerRequest,
  answerRequests,
  createBusGate,
  encodeBody,
  nobodyAnswersError,
  readReply,
  withinTime,
} from './bus-messages.ts'

/** The bus of a single process, which is the default. Requests travel as text, as between processes, so that nothing is shared. */
export function createInProcessBus({ report }: { readonly report: ReportFault }): Bus {
  const listeners = new Map<string, Set<() => void>>()
  /** By subject; the one that answered longest ago comes first. */
  const servers = new Map<string, AnswerRequest[]>()
  const underWay = new Set<Promise<string>>()
  const gate = createBusGate()

  return {
    async notify(subject) {
      gate.check(subject)
      for (const listener of listeners.get(subject) ?? []) listener()
    },
    listen(subject, listener, { signal }) {
      gate.check(subject)
      if (signal.aborted) return
      const listening = listeners.get(subject) ?? new Set()
      listeners.set(subject, listening.add(listener))
      gate.onEnd(signal, () => listening.delete(listener))
    },
    async request(subject, body, { timeoutMs }) {
      gate.check(subject)
      const text = encodeBody(subject, body)
      const answering = servers.get(subject)
      const answer = answering?.shift()
      if (answering === undefined || answer === undefined) throw nobodyAnswersError(subject)
      answering.push(answer)
      const reply = answer(text).finally(() => underWay.delete(reply))
      underWay.add(reply)
      return readReply(subject, await withinTime(reply, timeoutMs, `the request to ${subject}`))
    },
    serve(subject, handler, { signal }) {
      gate.check(subject)
      if (signal.aborted) return
      const answer = answerRequests(subject, handler, report)
      const answering = servers.get(subject) ?? []
      servers.set(subject, answering)
      answering.push(answer)
      gate.onEnd(signal, () => answering.splice(answering.indexOf(answer), 1))
    },
    async health() {
      const ok = gate.isOpen()
      return { ok, adapter: 'in-process', detail: ok ? 'open' : 'closed' }
    },
    async close() {
      gate.close()
      await Promise.all(underWay)
    },
  }
}
