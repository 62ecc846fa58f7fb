import type { Json } from '../../../contracts/json.ts'
import type { ReportFault, RequestHandler } from './bus.ts'
import { encodeBody } from './message-body.ts'
import { type AnswerRequest, answerRequests, nobodyAnswers, readReply } from './request-answering.ts'
import { checkRequestSubject } from './subjects.ts'
import { withinTime } from './within-time.ts'

export interface InProcessRequests {
  request(subject: string, body: Json, options: { readonly timeoutMs: number }): Promise<Json>
  serve(subject: string, handler: RequestHandler, options: { readonly signal: AbortSignal }): void
  /** Resolves when no answer is under way. */
  finish(): Promise<void>
}

/** Requests between parts of one process, as text like those between processes, so that nothing is shared. */
export function createInProcessRequests(report: ReportFault): InProcessRequests {
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
        throw nobodyAnswers(subject)
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
