import { assert } from '../../../contracts/assert.ts'
import { ChatAnswered, ChatReserved } from '../../../contracts/chat-events.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { NewEvent, RecordedEvent } from '../../../contracts/event.ts'
import { decodeEventOf } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { CHATS_PER_WINDOW } from '../../../contracts/knowledge-answers.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { TIERS } from '../../../contracts/plans.ts'
import { comparePositions } from '../../../contracts/position.ts'
import type { Channel } from '../../../contracts/quota-events.ts'
import { chatStream } from '../../../contracts/streams.ts'
import { type LogUse, RETRY_FOR_CALLER, type UnknownOutcome } from '../../log/append-with-retry.ts'
import { executeCommand } from '../../log/command-handler.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import type { FactId } from '../../runtime/ids/fact-id.ts'
import type { ChatIndex } from './chat-index.ts'
import {
  type AnsweredEvent,
  type ChatEvent,
  type Chatter,
  type ChatWindow,
  chatQuota,
  evolve,
  hasRoom,
  openAt,
  UNUSED,
} from './chat-window.ts'

export interface ChatLedgerOptions extends LogUse {
  readonly index: ChatIndex
  readonly idOf: FactId
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
  /** The reservation that it ends; null where the model costs nothing. */
  readonly reservationId: string | null
  /** JSON text. */
  readonly answer: string
}

export interface CountedChat {
  /** The answer that is in the log: the one given, or that of the same key's first chat. */
  readonly answer: string
  /** Chats used in the window, this one included. */
  readonly used: number
  readonly isReplay: boolean
}

const LOOK_EVERY_MS = 2

const UNKNOWN: UnknownOutcome = {
  what: 'this chat was counted',
  again:
    'With the same Idempotency-Key it can be sent again: it is then counted once, and has the same answer.',
}

/**
 * Counts chats as calls are counted: an answer and its count are one event in the account's stream of the window,
 * appended with an explicit revision, so that there are no more of them than the limit however many processes count.
 */
export class ChatLedger {
  readonly #options: ChatLedgerOptions
  /** As last seen; what is forgotten is read again. */
  readonly #seen = new RecentMap<string, ChatWindow>(LIMITS.chattersKept)

  constructor(options: ChatLedgerOptions) {
    this.#options = options
  }

  /**
   * Chats used so far.
   *
   * @throws ServiceError `CHAT_QUOTA_EXHAUSTED` where there is none left, `store_unavailable`
   */
  async look(chatter: Chatter, at: number): Promise<number> {
    const window = await this.#newest(chatter)
    requireRoom(chatter, window, at)
    return window.used
  }

  /**
   * The stored answer of an idempotency key, whichever window and process it was used in.
   *
   * @returns undefined for a key that is new
   * @throws ServiceError `idempotency_mismatch`, `store_unavailable`
   */
  async find(chatter: Chatter, use: ChatUse): Promise<CountedChat | undefined> {
    return use.idempotencyHash === null ? undefined : this.#find(chatter, use, await this.#newest(chatter))
  }

  /**
   * Sets one chat aside before a model that costs money is asked. It is free again when its time is over, so a process
   * that ends meanwhile takes nothing with it.
   *
   * @returns id of the reservation
   * @throws ServiceError `CHAT_QUOTA_EXHAUSTED`; `rate_limited` while a chat of the same key is being answered;
   *   `store_unavailable`, `store_full`
   */
  reserve(
    chatter: Chatter,
    { requestId, ...use }: ChatUse & { readonly model: string },
    at: number,
  ): Promise<string> {
    return this.#commit(chatter, async (window) => {
      const isUnderWay = openAt(window, at).some(
        ({ idempotencyHash: hash }) => hash !== null && hash === use.idempotencyHash,
      )
      if (isUnderWay) throw beingAnsweredError()
      requireRoom(chatter, window, at)
      const id = this.#options.newId()
      const until = at + LIMITS.chatReservationMs
      const data = { payerId: chatter.id, window: chatter.window, ...use, until }
      return { event: newEvent(ChatReserved, { id, data, meta: metaOf(requestId) }), settled: id }
    })
  }

  /**
   * Counts a chat together with its answer; durable when it resolves. Of two chats with one key the first counts, and
   * the other has its answer.
   *
   * @throws ServiceError `CHAT_QUOTA_EXHAUSTED`, `idempotency_mismatch`, `store_unavailable`, `store_full`
   */
  count(chatter: Chatter, { requestId, ...chat }: AnsweredChat, at: number): Promise<CountedChat> {
    return this.#commit(chatter, async (window) => {
      const known = await this.#find(chatter, { ...chat, requestId }, window)
      if (known !== undefined) return { event: undefined, settled: known }
      requireRoom(chatter, window, at, chat.reservationId ?? undefined)
      const { idempotencyHash: hash } = chat
      const id = hash === null ? this.#options.newId() : this.#options.idOf('chat', chatter.id, hash)
      const used = window.used + 1
      assert(used <= CHATS_PER_WINDOW[chatter.tier], 'chats counted are within the limit of the plan', used)
      const data = { payerId: chatter.id, window: chatter.window, ...chat, used }
      const event = newEvent(ChatAnswered, { id, data, meta: metaOf(requestId) })
      return { event, settled: { answer: chat.answer, used, isReplay: false } }
    })
  }

  /** Everything in the stream so far: what is decided on it and overtaken is decided anew. */
  async #newest({ id, window }: Chatter): Promise<ChatWindow> {
    const stream = chatStream(id, window.id)
    let seen = this.#seen.get(stream) ?? UNUSED
    const from = seen.revision === 'no-stream' ? 0 : seen.revision + 1
    for await (const event of this.#options.store.read(stream, { from })) {
      // EventStoreDB begins at the end where there is nothing from here on.
      if (event.revision >= from) seen = evolve(seen, chatEvent(event))
    }
    this.#seen.set(stream, seen)
    return seen
  }

  async #find(
    chatter: Chatter,
    { idempotencyHash: hash, requestHash }: ChatUse,
    window: ChatWindow,
  ): Promise<CountedChat | undefined> {
    if (hash === null) return undefined
    const event = window.keys.get(hash) ?? (await this.#earlier(chatter, hash))
    if (event === undefined) return undefined
    if (event.data.requestHash !== requestHash) throw new ServiceError('idempotency_mismatch')
    return { answer: event.data.answer, used: window.used, isReplay: true }
  }

  /** A key may have been used in an earlier window: the read model knows, once it holds the log up to here. */
  async #earlier(chatter: Chatter, hash: string): Promise<AnsweredEvent | undefined> {
    const { store, index, now, sleep, signal } = this.#options
    const [began, end] = [now(), await store.head()]
    while (comparePositions(index.position(), end) < 0) {
      if (signal.aborted || now() - began >= LIMITS.debitIndexWaitMs) throw ledgerBehindError()
      await sleep(LOOK_EVERY_MS, signal)
    }
    const place = index.find(chatter.id, hash)
    if (place === undefined) return undefined
    const stream = chatStream(chatter.id, place.window)
    for await (const recorded of store.read(stream, { from: place.revision, limit: 1 })) {
      const event = chatEvent(recorded)
      if (event.type === 'ChatAnswered') return event
    }
    throw new ServiceError('internal_error', {
      message: `The index has a chat at revision ${place.revision} of ${stream}, where the log has none.`,
    })
  }

  /** Appends what is decided on the newest window, and decides anew where something else came first. */
  async #commit<Settled>(
    chatter: Chatter,
    decide: (window: ChatWindow) => Promise<Decision<Settled>>,
  ): Promise<Settled> {
    const { result } = await executeCommand<ChatWindow, Settled>(
      { ...this.#options, policy: RETRY_FOR_CALLER },
      {
        stream: chatStream(chatter.id, chatter.window.id),
        load: async () => {
          const state = await this.#newest(chatter)
          return { state, revision: state.revision }
        },
        async decide(window) {
          const { event, settled } = await decide(window)
          return { events: event === undefined ? [] : [event], result: settled }
        },
        unknown: UNKNOWN,
      },
    )
    return result
  }
}

const chatEvent = (recorded: RecordedEvent): ChatEvent =>
  decodeEventOf(recorded, 'ChatReserved', 'ChatAnswered')

/** The event to append, if any, and the result once it is durable. */
interface Decision<Settled> {
  readonly event: NewEvent | undefined
  readonly settled: Settled
}

const metaOf = (requestId: string) => ({ correlationId: requestId, actor: 'chat' })

/** @throws ServiceError `CHAT_QUOTA_EXHAUSTED` */
function requireRoom(chatter: Chatter, window: ChatWindow, at: number, own?: string): void {
  const { tier } = chatter
  if (hasRoom(window, tier, at, own)) return
  const { limit, used, resets_at: resetsAt } = chatQuota(chatter, window)
  const underWay = openAt(window, at).length
  // Those that are being answered may yet be free again, long before the window ends.
  const freeAt = used < limit ? at + LIMITS.chatReservationMs : chatter.window.to
  throw new ServiceError('CHAT_QUOTA_EXHAUSTED', {
    message: `All ${limit} chats of this window were used${underWay === 0 ? '' : ` or are being answered (${underWay})`} (tier ${tier}); there are more at ${resetsAt}`,
    details: {
      tier,
      limit,
      used,
      under_way: underWay,
      resets_at: resetsAt,
      retry_after_s: Math.max(1, Math.ceil((freeAt - at) / 1_000)),
      plans: TIERS.filter((one) => CHATS_PER_WINDOW[one] > limit).map((one) => ({
        tier: one,
        chats: CHATS_PER_WINDOW[one],
      })),
    },
  })
}

const beingAnsweredError = (): ServiceError =>
  new ServiceError('rate_limited', {
    message:
      'A chat with this Idempotency-Key is being answered; send it again with the same key for its answer',
    details: { retry_after_s: 2 },
  })

const ledgerBehindError = (): ServiceError =>
  new ServiceError('store_unavailable', {
    message: `Whether this Idempotency-Key was used before cannot be told yet: its index has not reached the end of the log within ${LIMITS.debitIndexWaitMs} ms. Nothing was counted`,
    isForCallers: true,
  })
