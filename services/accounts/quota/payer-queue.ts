import { assert } from '../../../contracts/errors/assert.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { type Channel, QuotaDebited } from '../../../contracts/events/quota-events.ts'
import { quotaStream } from '../../../contracts/events/streams.ts'
import type { NewEvent } from '../../../contracts/infra/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { DebitPlace } from '../../../projections/index.ts'
import { outcomeUnknownError, type UnknownOutcome } from '../../log/append-with-retry.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { type Balance, type DebitEvent, dayOf, decideDebit, evolve, type Payer, UNUSED } from './balance.ts'
import type { DebitLog } from './debit-log.ts'
import { quotaExhaustedError } from './quota-block.ts'
import type { UsedKeys } from './used-keys.ts'

/** A tool call that was computed and is to be counted. */
export interface Debit {
  readonly tool: string
  readonly channel: Channel
  readonly keyId: string | null
  /** SHA-256 of the tool and its request, hex. */
  readonly requestHash: string
  /** SHA-256 of the payer and its Idempotency-Key, hex. */
  readonly idempotencyHash: string | null
  /** The tool's answer, JSON text. */
  readonly answer: string
  readonly requestId: string
  readonly traceparent?: string | undefined
}

export interface Debited {
  /** The answer that is in the log: the one given, or that of the same key's first call. */
  readonly answer: string
  /** The payer's balance after this call. */
  readonly balance: Balance
  /** True where the key was used before: nothing was charged. */
  readonly isReplay: boolean
}

/** A debit that waits for its place in a payer's stream. */
export interface Waiting {
  readonly payer: Payer
  /** When the call began, Unix milliseconds; it counts on that day. */
  readonly at: number
  /** Since when it waits here. */
  readonly since: number
  /** Id of its event, the same for all attempts. */
  readonly id: string
  readonly debit: Debit
  resolve(done: Debited): void
  reject(error: unknown): void
}

/** The event of a waiting debit, and the balance after it. */
interface Planned {
  readonly waiting: Waiting
  readonly event: NewEvent
  readonly after: Balance
}

export interface PayerQueueOptions extends Pick<Clock, 'now'> {
  readonly log: DebitLog
  readonly keys: UsedKeys
  readonly payPerCall: (tool: string) => string | undefined
}

export type PayerQueue = ReturnType<typeof createPayerQueue>

/** A longest answer in its most wasteful encoding has room; the rest of an event is small. */
const BYTES_PER_CHARACTER = 3
const EVENT_BYTES = 1_500

const UNKNOWN: UnknownOutcome = {
  what: 'this call was counted',
  again: 'Send the call again with the same Idempotency-Key: it is counted once and has the same answer.',
}

/**
 * All that is decided for one payer, one after the other; debits that wait meanwhile share an append.
 *
 * @param payerId whose queue it is; everything pushed is of this payer
 */
// oxlint-disable-next-line max-lines-per-function -- debits of a payer wait for one another in one queue that all these functions change
export function createPayerQueue(payerId: string, { log, keys, now, payPerCall }: PayerQueueOptions) {
  const queue: Waiting[] = []
  let known: { readonly windowId: string; readonly balance: Balance } | undefined
  let tail: Promise<unknown> = Promise.resolve()
  let users = 0
  let isDraining = false

  /** One piece of work at a time decides from the balance, or changes it. */
  function serially<Value>(work: () => Promise<Value>): Promise<Value> {
    users += 1
    const result = tail.then(work).finally(() => {
      users -= 1
    })
    // The caller gets the error; the next piece of work only waits for the end of this one.
    tail = result.catch(() => undefined)
    return result
  }

  const streamOf = (windowId: string): string => quotaStream(payerId, windowId)
  const balanceOf = (windowId: string): Balance | undefined =>
    known?.windowId === windowId ? known.balance : undefined

  function see(event: DebitEvent): Balance {
    assert(event.data.payerId === payerId, 'the stream of a payer holds its own calls', event.revision)
    if (event.data.idempotencyHash !== null) {
      const { window, idempotencyHash, requestHash } = event.data
      keys.add(idempotencyHash, { window: window.id, revision: event.revision, requestHash }, event.position)
    }
    return evolve(event)
  }

  async function newestBalance(windowId: string): Promise<Balance> {
    const newest = await log.newest(streamOf(windowId))
    return newest === undefined ? UNUSED : evolve(newest)
  }

  /** The balance from the newest event alone: what came before it was not seen. */
  async function load(windowId: string): Promise<Balance> {
    const balance = await newestBalance(windowId)
    keys.missedSome()
    known = { windowId, balance }
    return balance
  }

  /**
   * Takes in what others appended. Where there is nothing, though somebody was in the way, it lies elsewhere: an
   * id of the append is in another stream, or the log ends before what was known of it.
   */
  async function catchUp(windowId: string, before: Balance): Promise<void> {
    const seen = await log.behind(streamOf(windowId), before.revision)
    if (seen === undefined || seen.length === 0) await load(windowId)
    else known = { windowId, balance: seen.map(see).at(-1) ?? before }
  }

  async function drain(): Promise<void> {
    isDraining = true
    while (queue.length > 0) await serially(takeTurn)
    isDraining = false
  }

  /** Decides the oldest that wait, as many as fit, and appends them together. */
  async function takeTurn(): Promise<void> {
    const batch = takeBatch()
    try {
      await commit(batch)
    } catch (error) {
      // A call that was answered already keeps its answer.
      for (const waiting of batch) waiting.reject(error)
    }
  }

  function takeBatch(): Waiting[] {
    const windowId = queue[0]?.payer.window.id
    const hashes = new Set<string>()
    let bytes = 0
    let count = 0
    for (const { payer, debit } of queue) {
      if (payer.window.id !== windowId || count === LIMITS.appendEvents) break
      const { answer, idempotencyHash } = debit
      // The second of the same key waits for the first, whose answer it gets.
      if (idempotencyHash !== null && hashes.has(idempotencyHash)) break
      if (idempotencyHash !== null) hashes.add(idempotencyHash)
      bytes += EVENT_BYTES + answer.length * BYTES_PER_CHARACTER
      if (count > 0 && bytes > LIMITS.appendBytes) break
      count += 1
    }
    return queue.splice(0, count)
  }

  async function commit(batch: readonly Waiting[]): Promise<void> {
    const [oldest] = batch
    if (oldest === undefined) return
    const { since, payer } = oldest
    const isOfOne = batch.every((one) => one.payer.id === payerId && one.payer.window.id === payer.window.id)
    assert(isOfOne, 'an append of debits is of one payer and window', batch.length)
    const windowId = payer.window.id
    for (let left = batch, conflicts = 1; ; conflicts++) {
      const balance = balanceOf(windowId) ?? (await load(windowId))
      if (left.some(hasKey)) left = await withoutUsedKeys(left)
      const planned = plan(left, balance)
      if (planned.length === 0) return
      const events = planned.map(({ event }) => event)
      const outcome = await log.append(streamOf(windowId), events, balance.revision, since)
      if (outcome.kind === 'appended') return settle(planned, windowId, outcome.position)
      if (outcome.kind === 'refused') throw outcome.error
      // It may come to be in the log yet: then what is appended next is overtaken by it, and it is seen.
      if (outcome.kind === 'unknown') throw outcomeUnknownError(UNKNOWN, outcome.error)
      if (now() - since >= LIMITS.appendSettleMs) throw contendedError()
      await log.pause(conflicts)
      await catchUp(windowId, balance)
      left = planned.map(({ waiting }) => waiting)
    }
  }

  /** Gives those whose key was used before their stored answer; the others are left. */
  async function withoutUsedKeys(batch: readonly Waiting[]): Promise<readonly Waiting[]> {
    const left: Waiting[] = []
    for (const waiting of batch) {
      const hash = waiting.debit.idempotencyHash
      if (hash === null || keys.isUnused(hash) || !(await isAnswered(waiting, hash))) left.push(waiting)
    }
    return left
  }

  async function isAnswered(waiting: Waiting, hash: string): Promise<boolean> {
    try {
      const place = await keys.lookUp(hash)
      if (place === undefined) return false
      requireSameRequest(place, waiting.debit.requestHash)
      waiting.resolve(await replay(waiting.payer, place))
    } catch (error) {
      waiting.reject(error)
    }
    return true
  }

  /** Decides one after the other and rejects the refused ones at once. */
  function plan(batch: readonly Waiting[], from: Balance): Planned[] {
    const planned: Planned[] = []
    let balance = from
    for (const waiting of batch) {
      try {
        const next = planEvent(waiting, balance, payPerCall)
        planned.push(next)
        balance = next.after
      } catch (error) {
        waiting.reject(error)
      }
    }
    return planned
  }

  function settle(planned: readonly Planned[], windowId: string, position: string): void {
    const last = planned.at(-1)
    if (last === undefined) return
    const first = Number(planned[0]?.after.revision)
    const isInOrder = planned.every(({ after }, index) => after.revision === first + index)
    assert(isInOrder, 'debits of one append follow each other', first)
    known = { windowId, balance: last.after }
    for (const { waiting, after } of planned) {
      const { answer, idempotencyHash, requestHash } = waiting.debit
      const revision = Number(after.revision)
      if (idempotencyHash !== null)
        keys.add(idempotencyHash, { window: windowId, revision, requestHash }, position)
      waiting.resolve({ answer, balance: after, isReplay: false })
    }
  }

  async function replay(payer: Payer, place: DebitPlace): Promise<Debited> {
    const event = await log.at(streamOf(place.window), place.revision)
    if (event?.data.requestHash !== place.requestHash) {
      throw new ServiceError('internal_error', {
        message: `The index has a debit at revision ${place.revision} of window ${place.window}, where the log has another event.`,
      })
    }
    // Only the newest state of the caller's own window is of interest, and it may not be known here yet.
    const balance = balanceOf(payer.window.id) ?? (await newestBalance(payer.window.id))
    return { answer: event.data.answer, balance, isReplay: true }
  }

  return {
    /** The cached balance of a window; undefined if none is cached. */
    balance: balanceOf,
    /** Reads what others appended to a window's stream since it was looked at, if anything. */
    refresh: ({ window }: Payer): Promise<Balance> =>
      serially(async () => {
        const before = balanceOf(window.id)
        if (before === undefined) return load(window.id)
        await catchUp(window.id, before)
        return balanceOf(window.id) ?? load(window.id)
      }),
    /** The stored answer of a key that was used before. */
    replay,
    push(wanted: Omit<Waiting, 'resolve' | 'reject'>): Promise<Debited> {
      const { promise, resolve, reject } = Promise.withResolvers<Debited>()
      queue.push({ ...wanted, resolve, reject })
      if (!isDraining) void drain()
      return promise
    },
    get waiting() {
      return queue.length
    },
    get isIdle() {
      return users === 0 && queue.length === 0
    },
  }
}

/** The event of one that waits, and the balance after it. @throws ServiceError `quota_exhausted` */
function planEvent(
  waiting: Waiting,
  balance: Balance,
  payPerCall: (tool: string) => string | undefined,
): Planned {
  const { payer, at, id } = waiting
  const { id: payerId, tier, window } = payer
  const decision = decideDebit(balance, tier, dayOf(at, window))
  const { requestId, traceparent, ...debit } = waiting.debit
  if (decision.kind === 'refuse') {
    throw quotaExhaustedError(payer, balance, decision.exhausted, at, payPerCall(debit.tool))
  }
  const { after } = decision
  const { used, usedToday } = after
  const data = { payerId, window, day: after.day, ...debit, used, usedToday }
  const meta = { correlationId: requestId, actor: 'calls', ...(traceparent && { traceparent }) }
  return { waiting, after, event: newEvent(QuotaDebited, { id, data, meta }) }
}

const hasKey = ({ debit }: Waiting): boolean => debit.idempotencyHash !== null

/** @throws ServiceError `idempotency_mismatch` */
export function requireSameRequest(use: { readonly requestHash: string }, requestHash: string): void {
  if (use.requestHash !== requestHash) throw new ServiceError('idempotency_mismatch')
}

const contendedError = (): ServiceError =>
  new ServiceError('store_unavailable', {
    message: `Other processes kept counting calls of the same payer for ${LIMITS.appendSettleMs} ms; nothing was charged`,
    isForCallers: true,
  })
