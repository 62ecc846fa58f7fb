import { atAddress } from '../../contracts/documented-address.ts'
import type { JsonObject } from '../../contracts/json.ts'
import type { ChatAnswer, SearchAnswer } from '../../contracts/knowledge-answers.ts'
import type { Channel } from '../../contracts/quota-events.ts'
import type { Identify } from '../accounts/index.ts'
import {
  type ChatLedger,
  type Chatter,
  chatQuota,
  type Knowledge,
  type Lookup,
  type WrittenAnswer,
} from '../knowledge/index.ts'
import type { Clock } from '../runtime/async/clock.ts'
import { createSingleFlight } from '../runtime/async/single-flight.ts'
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

/** One question on its way. */
interface Pending {
  readonly chatter: Chatter
  readonly use: Parameters<ChatLedger['find']>[1]
  readonly channel: Channel
  /** When it began. */
  readonly at: number
  readonly lookup: () => Promise<Lookup>
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
  /** Questions with an idempotency key; who repeats one meanwhile waits for its outcome. */
  const flights = createSingleFlight<Outcome>()

  async function answer(pending: Pending): Promise<Outcome> {
    const { chatter, use, channel, at } = pending
    const known = await ledger.find(chatter, use)
    if (known !== undefined) return { ...known, stored: JSON.parse(known.answer) as StoredAnswer }
    const used = await ledger.look(chatter, at)
    const lookup = await pending.lookup()
    if (!lookup.isAnswerable) return { stored: await lookup.write(), used, isReplay: false }
    const { model } = lookup.request
    const reservationId = lookup.isPaid ? await ledger.reserve(chatter, { ...use, model }, at) : null
    const written = await lookup.write()
    const chat = { ...use, channel, model: written.model, reservationId, answer: storedText(written) }
    const counted = await ledger.count(chatter, chat, at)
    return { ...counted, stored: counted.isReplay ? (JSON.parse(counted.answer) as StoredAnswer) : written }
  }

  /** The first of a key answers; the others in this process have what it has. */
  async function answerOnce(pending: Pending, hash: string): Promise<Outcome> {
    const { chatter, use } = pending
    const { value, isShared } = await flights.run(`${chatter.id} ${hash}`, use.requestHash, () =>
      answer(pending),
    )
    return isShared ? { ...value, isReplay: true } : value
  }

  return {
    async search({ request, authorization }) {
      requireKey(await identify(authorization))
      return addressed(await knowledge.search(knowledge.readSearch(request)), publicUrl())
    },
    async chat({ request, authorization, idempotencyKey, requestId, channel }) {
      const { accountId: id, keyId, tier, window } = requireKey(await identify(authorization))
      const question = knowledge.readChat(request)
      const chatter: Chatter = { id, tier, window }
      const hash = idempotencyKey === undefined ? null : idempotencyHash(id, idempotencyKey)
      const use = {
        keyId,
        requestHash: requestHash('chat_knowledge', question),
        idempotencyHash: hash,
        requestId,
      }
      const pending = { chatter, use, channel, at: now(), lookup: () => knowledge.lookUp(question) }
      const { stored, used, isReplay } = await (hash === null ? answer(pending) : answerOnce(pending, hash))
      const quota = chatQuota(chatter, { used })
      return { body: { question: question.question, ...addressed(stored, publicUrl()), quota }, isReplay }
    },
  }
}

/** An answer whose examples name the address of this service. Addresses hold nothing that JSON would escape. */
const addressed = <Answer>(answer: Answer, publicUrl: string): Answer =>
  JSON.parse(atAddress(JSON.stringify(answer), publicUrl)) as Answer

const storedText = ({ answer, citations, model, note }: WrittenAnswer): string =>
  JSON.stringify({ answer, citations, model, note } satisfies JsonObject)
