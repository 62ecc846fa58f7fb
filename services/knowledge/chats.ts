import { CHATS_PER_WINDOW, type ChatQuota } from '../../contracts/answers/knowledge.ts'
import { isoTime } from '../../contracts/domain/iso-time.ts'
import { type QuotaWindow, TIERS, type Tier } from '../../contracts/domain/plans.ts'
import { assert } from '../../contracts/errors/assert.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { decodeEventOf, type ServiceEvent } from '../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../contracts/events/event-definition.ts'
import { type Channel, ChatAnswered } from '../../contracts/events/quota-events.ts'
import { chatStream } from '../../contracts/events/streams.ts'
import type { RecordedEvent, Revision } from '../../contracts/infra/event.ts'
import { comparePositions, type Position, START } from '../../contracts/infra/position.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { type ChatPlace, chatKey, chats } from '../../projections/index.ts'
import { type LogUse, RETRY_FOR_CALLER, type UnknownOutcome } from '../log/append-with-retry.ts'
import { executeCommand } from '../log/command-handler.ts'
import type { Projector } from '../log/projector/projector.ts'
import type { FactId } from '../runtime/ids/fact-id.ts'

/** The account of a chat, and the window in which the chat counts. */
export interface Chatter {
  /** Id of an account. */
  readonly id: string
  readonly tier: Tier
  readonly window: QuotaWindow
}

/** Identifies one chat. */
export interface ChatUse {
  readonly keyId: string
  /** SHA-256 of the question and the model, hex. */
  readonly requestHash: string
  /** SHA-256 of the account and its Idempotency-Key, hex. */
  readonly idempotencyHash: string | null
  readonly requestId: string
}

export interface AnsweredChat extends ChatUse {
  readonly channel: Channel
  readonly model: string
  /** JSON text. */
  readonly answer: string
}

export interface CountedChat {
  /** The answer in the log: the given one, or that of the same key's first chat. */
  readonly answer: string
  /** Chats used in the window, this one included. */
  readonly used: number
  readonly isReplay: boolean
}

type AnsweredEvent = Extract<ServiceEvent, { type: 'ChatAnswered' }>

/** The fold of an account's stream of one window. */
interface ChatWindow {
  readonly revision: Revision | 'no-stream'
  readonly used: number
  /** By idempotency key: the event that used it. */
  readonly keys: ReadonlyMap<string, AnsweredEvent>
}

const POLL_MS = 2

const UNKNOWN: UnknownOutcome = {
  what: 'this chat was counted',
  again: 'Send it again with the same Idempotency-Key: it is counted once and has the same answer.',
}

/** Finds an answered chat by payer and idempotency key, in the read models of this process. */
export function createChatIndex(projector: Pick<Projector, 'reader'>) {
  const reader = projector.reader(chats)
  /** The log position that it has reached. */
  const position = (): Position => reader.health().position
  return {
    position,
    // A projector that has just begun has no rows to read.
    find: (payerId: string, idempotencyHash: string): ChatPlace | undefined =>
      position() === START ? undefined : reader.get(chatKey(payerId, idempotencyHash)),
  }
}

export type ChatIndex = ReturnType<typeof createChatIndex>

export interface ChatLedgerOptions extends LogUse {
  readonly index: ChatIndex
  readonly idOf: FactId
}

/**
 * Counts chats: an answer and its count are one event in the account's stream of the window, appended with an expected
 * revision, so no number of processes counts more than the limit. A window has a few hundred chats at most, so it is
 * read whole for each of them.
 */
export class ChatLedger {
  readonly #options: ChatLedgerOptions

  constructor(options: ChatLedgerOptions) {
    this.#options = options
  }

  /**
   * Chats used so far.
   *
   * @throws ServiceError `CHAT_QUOTA_EXHAUSTED`, `store_unavailable`
   */
  async requireRoom(chatter: Chatter, at: number): Promise<number> {
    const window = await this.#read(chatter)
    requireRoom(chatter, window, at)
    return window.used
  }

  /**
   * The stored answer of an idempotency key, of any window and process; undefined for a new key.
   *
   * @throws ServiceError `idempotency_mismatch`, `store_unavailable`
   */
  async find(chatter: Chatter, use: ChatUse): Promise<CountedChat | undefined> {
    return use.idempotencyHash === null ? undefined : this.#find(chatter, use, await this.#read(chatter))
  }

  /**
   * Counts a chat together with its answer; durable when it resolves. Of two chats with one key the first counts, and
   * the other has its answer.
   *
   * @throws ServiceError `CHAT_QUOTA_EXHAUSTED`, `idempotency_mismatch`, `store_unavailable`, `store_full`
   */
  async count(chatter: Chatter, { requestId, ...chat }: AnsweredChat, at: number): Promise<CountedChat> {
    const { result } = await executeCommand<ChatWindow, CountedChat>(
      { ...this.#options, policy: RETRY_FOR_CALLER },
      {
        stream: chatStream(chatter.id, chatter.window.id),
        load: async () => {
          const state = await this.#read(chatter)
          return { state, revision: state.revision }
        },
        decide: async (window) => {
          const known = await this.#find(chatter, { ...chat, requestId }, window)
          if (known !== undefined) return { events: [], result: known }
          requireRoom(chatter, window, at)
          const { idempotencyHash: hash } = chat
          const id = hash === null ? this.#options.newId() : this.#options.idOf('chat', chatter.id, hash)
          const used = window.used + 1
          assert(
            used <= CHATS_PER_WINDOW[chatter.tier],
            'chats counted are within the limit of the plan',
            used,
          )
          const data = { payerId: chatter.id, window: chatter.window, ...chat, used }
          const event = newEvent(ChatAnswered, {
            id,
            data,
            meta: { correlationId: requestId, actor: 'chat' },
          })
          return { events: [event], result: { answer: chat.answer, used, isReplay: false } }
        },
        unknown: UNKNOWN,
      },
    )
    return result
  }

  async #read({ id, window }: Chatter): Promise<ChatWindow> {
    const keys = new Map<string, AnsweredEvent>()
    let [revision, used]: [ChatWindow['revision'], number] = ['no-stream', 0]
    for await (const recorded of this.#options.store.read(chatStream(id, window.id))) {
      const event = answeredEvent(recorded)
      ;[revision, used] = [event.revision, event.data.used]
      if (event.data.idempotencyHash !== null) keys.set(event.data.idempotencyHash, event)
    }
    return { revision, used, keys }
  }

  async #find(
    chatter: Chatter,
    { idempotencyHash: hash, requestHash }: ChatUse,
    window: ChatWindow,
  ): Promise<CountedChat | undefined> {
    if (hash === null) return undefined
    const event = window.keys.get(hash) ?? (await this.#findEarlier(chatter, hash))
    if (event === undefined) return undefined
    if (event.data.requestHash !== requestHash) throw new ServiceError('idempotency_mismatch')
    return { answer: event.data.answer, used: window.used, isReplay: true }
  }

  /** An earlier window may have used the key: the read model knows, once it has reached the end of the log. */
  async #findEarlier(chatter: Chatter, hash: string): Promise<AnsweredEvent | undefined> {
    const { store, index, now, sleep, signal } = this.#options
    const [began, end] = [now(), await store.head()]
    while (comparePositions(index.position(), end) < 0) {
      if (signal.aborted || now() - began >= LIMITS.debitIndexWaitMs) throw indexBehindError()
      await sleep(POLL_MS, signal)
    }
    const place = index.find(chatter.id, hash)
    if (place === undefined) return undefined
    const stream = chatStream(chatter.id, place.window)
    for await (const recorded of store.read(stream, { from: place.revision, limit: 1 }))
      return answeredEvent(recorded)
    throw new ServiceError('internal_error', {
      message: `The index names a chat at revision ${place.revision} of ${stream}, which the log does not have.`,
    })
  }
}

const answeredEvent = (recorded: RecordedEvent): AnsweredEvent => decodeEventOf(recorded, 'ChatAnswered')

/** The remaining chats, as callers see them. */
export function chatQuota({ tier, window }: Chatter, used: number): ChatQuota {
  const limit = CHATS_PER_WINDOW[tier]
  return { remaining: Math.max(0, limit - used), limit, used, resets_at: isoTime(window.to) }
}

/** @throws ServiceError `CHAT_QUOTA_EXHAUSTED` */
function requireRoom(chatter: Chatter, { used }: ChatWindow, at: number): void {
  const { tier, window } = chatter
  const { limit, resets_at: resetsAt } = chatQuota(chatter, used)
  if (used < limit) return
  throw new ServiceError('CHAT_QUOTA_EXHAUSTED', {
    message: `All ${limit} chats of this window are used (tier ${tier}); there are more at ${resetsAt}`,
    details: {
      tier,
      limit,
      used,
      resets_at: resetsAt,
      retry_after_s: Math.max(1, Math.ceil((window.to - at) / 1_000)),
      plans: TIERS.filter((one) => CHATS_PER_WINDOW[one] > limit).map((one) => ({
        tier: one,
        chats: CHATS_PER_WINDOW[one],
      })),
    },
  })
}

const indexBehindError = (): ServiceError =>
  new ServiceError('store_unavailable', {
    message: `The index of Idempotency-Keys has not reached the end of the log within ${LIMITS.debitIndexWaitMs} ms. Nothing was counted; send the request again.`,
    isForCallers: true,
  })
