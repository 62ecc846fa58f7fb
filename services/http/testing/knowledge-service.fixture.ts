import type { ChatAnswer, SearchAnswer } from '../../../contracts/answers/knowledge.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { readChatRequest, readSearchRequest } from '../../knowledge/index.ts'
import type { ChatRequestOnChannel, KnowledgeRequest, KnowledgeService } from '../../tool-calls/index.ts'

export const SEARCH_ANSWER: SearchAnswer = {
  query: 'quota',
  total: 1,
  results: [
    {
      id: 'quotas#quotas',
      title: 'Quotas',
      url: '/docs/quotas#quotas',
      excerpt: 'Every call counts one.',
      score: 4.2,
    },
  ],
}

const [{ score: _, ...CITATION }] = SEARCH_ANSWER.results as [SearchAnswer['results'][number]]

export const CHAT_ANSWER: ChatAnswer = {
  question: 'What counts?',
  answer: 'Every call counts one. [1]',
  citations: [CITATION],
  model: 'extractive',
  note: null,
  quota: { remaining: 9, limit: 10, used: 1, resets_at: '2026-12-01T00:00:00.000Z' },
}

/** A service that checks keys and requests as the real one does, answers the same to all, and keeps what it was asked. */
export function fakeKnowledgeService(): {
  readonly service: KnowledgeService
  readonly asked: (KnowledgeRequest | ChatRequestOnChannel)[]
  /** The error of the next request. */
  failure: Error | undefined
} {
  const fake = {
    asked: [] as (KnowledgeRequest | ChatRequestOnChannel)[],
    failure: undefined as Error | undefined,
  }
  function take(request: KnowledgeRequest | ChatRequestOnChannel): void {
    fake.asked.push(request)
    if (fake.failure !== undefined) throw fake.failure
    if (request.authorization === undefined) throw new ServiceError('unauthorized')
    if (request.authorization === 'Bearer unknown') throw new ServiceError('key_unknown')
  }
  const service: KnowledgeService = {
    async search(request) {
      take(request)
      const { query } = readSearchRequest(request.request)
      return { ...SEARCH_ANSWER, query }
    },
    async chat(request) {
      take(request)
      const { question } = readChatRequest(request.request, ['extractive'])
      return { body: { ...CHAT_ANSWER, question }, isReplay: request.idempotencyKey === 'again' }
    },
  }
  return Object.assign(fake, { service })
}
