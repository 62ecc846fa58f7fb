import type { ChatAnswer, SearchAnswer } from '../../contracts/answers/knowledge.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import type { Channel } from '../../contracts/events/quota-events.ts'
import { atAddress } from '../../contracts/infra/documented-address.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { ChatRequest } from '../../contracts/tools/free-tools.ts'
import type { Identify } from '../accounts/index.ts'
import {
  type ChatLedger,
  type Chatter,
  type ChatUse,
  chatQuota,
  type Knowledge,
  type WrittenAnswer,
} from '../knowledge/index.ts'
import type { Clock } from '../runtime/async/clock.ts'
import { requireKey } from './caller-identity.ts'
import { idempotencyHash, requestHash } from './idempotency-key.ts'

export interface KnowledgeServiceOptions extends Pick<Clock, 'now'> {
  readonly identify: Identify
  readonly knowledge: Knowledge
  readonly ledger: ChatLedger
  /** The address under which callers reach the service, which examples name; empty while it is not known. */
  readonly publicUrl?: () => string
}

/** A search or a question as a channel hands it over. */
export interface KnowledgeRequest {
  /** The caller's request, unchecked. */
  readonly request: unknown
  /** The `Authorization` header as it came; undefined where there was none. */
  readonly authorization: string | undefined
}

export interface ChatRequestOnChannel extends KnowledgeRequest {
  /** The `Idempotency-Key` header; undefined where there was none. */
  readonly idempotencyKey: string | undefined
  readonly requestId: string
  readonly channel: Channel
}

/** Search and questions for callers with a key, the same on every channel. */
export interface KnowledgeService {
  /**
   * @throws ServiceError `unauthorized`, `key_unknown`, `key_unverifiable`, `INVALID_QUERY`, `QUERY_TOO_SHORT`,
   *   `QUERY_TOO_LONG`
   */
  search(request: KnowledgeRequest): Promise<SearchAnswer>
  /**
   * Answers a question. A chat counts when it was answered; where the documentation does not say, or anything is
   * refused, it does not. When it resolves, the count and the answer are durable.
   *
   * @throws ServiceError `unauthorized`, `key_unknown`, `key_unverifiable`, `INVALID_QUESTION`, `QUESTION_TOO_SHORT`,
   *   `QUESTION_TOO_LONG`, `INVALID_MODEL`, `CHAT_QUOTA_EXHAUSTED`, `idempotency_mismatch`, and those of the store
   */
  chat(request: ChatRequestOnChannel): Promise<{ readonly body: ChatAnswer; readonly isReplay: boolean }>
}

/** The part of an answer in the log: all of it except the question and the count, which come with the caller. */
type StoredAnswer = Pick<ChatAnswer, 'answer' | 'citations' | 'model' | 'note'>

/** One question in progress. */
interface Pending {
  readonly chatter: Chatter
  readonly use: ChatUse
  readonly channel: Channel
  readonly request: ChatRequest
}

interface Outcome {
  readonly stored: StoredAnswer
  readonly used: number
  readonly isReplay: boolean
}

export function createKnowledgeService({
  identify,
  knowledge,
  ledger,
  publicUrl = () => '',
  now,
}: KnowledgeServiceOptions): KnowledgeService {
  const inTurn = createTurns()

  async function answer({ chatter, use, channel, request }: Pending): Promise<Outcome> {
    const at = now()
    const known = await ledger.find(chatter, use)
    if (known !== undefined) return { ...known, stored: JSON.parse(known.answer) as StoredAnswer }
    const used = await ledger.requireRoom(chatter, at)
    const lookup = await knowledge.lookUp(request)
    const written = await lookup.write()
    if (!lookup.isAnswerable) return { stored: written, used, isReplay: false }
    const chat = { ...use, channel, model: written.model, answer: storedText(written) }
    const counted = await ledger.count(chatter, chat, at)
    return { ...counted, stored: counted.isReplay ? (JSON.parse(counted.answer) as StoredAnswer) : written }
  }

  return {
    async search({ request, authorization }) {
      requireKey(await identify(authorization))
      return addressed(await knowledge.search(knowledge.readSearch(request)), publicUrl())
    },
    async chat({ request, authorization, idempotencyKey, requestId, channel }) {
      const { accountId: id, keyId, tier, window } = requireKey(await identify(authorization))
      const question = knowledge.readChat(request)
      const use = {
        keyId,
        requestHash: requestHash('chat_knowledge', question),
        idempotencyHash: idempotencyKey === undefined ? null : idempotencyHash(id, idempotencyKey),
        requestId,
      }
      const chatter: Chatter = { id, tier, window }
      const pending = { chatter, use, channel, request: question }
      const { stored, used, isReplay } = await inTurn(id, () => answer(pending))
      const body = { ...addressed(stored, publicUrl()), quota: chatQuota(chatter, used) }
      return { body: { question: question.question, ...body }, isReplay }
    },
  }
}

/**
 * Answers one chat of an account at a time, so a burst cannot ask a paid model more often than the quota allows, and a
 * repeated Idempotency-Key finds the answer of the first.
 */
function createTurns() {
  const queues = new Map<string, { waiting: number; last: Promise<unknown> }>()
  return async <Result>(account: string, work: () => Promise<Result>): Promise<Result> => {
    const queue = queues.get(account) ?? { waiting: 0, last: Promise.resolve() }
    if (queue.waiting >= LIMITS.chatModelAtOnce) {
      throw new ServiceError('rate_limited', {
        message: `${queue.waiting} chats of this account are being answered; send the next one after an answer`,
        details: { retry_after_s: 2 },
      })
    }
    const result = queue.last.then(work)
    queue.waiting += 1
    queue.last = result.catch(() => undefined)
    queues.set(account, queue)
    try {
      return await result
    } finally {
      queue.waiting -= 1
      if (queue.waiting === 0) queues.delete(account)
    }
  }
}

/** An answer whose examples name the address of this service. Addresses hold nothing that JSON would escape. */
const addressed = <Answer>(answer: Answer, publicUrl: string): Answer =>
  JSON.parse(atAddress(JSON.stringify(answer), publicUrl)) as Answer

const storedText = ({ answer, citations, model, note }: WrittenAnswer): string =>
  JSON.stringify({ answer, citations, model, note } satisfies JsonObject)
