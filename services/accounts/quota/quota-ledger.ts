import { ServiceError } from '../../../contracts/errors/errors.ts'
import { quotaStream } from '../../../contracts/events/streams.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { LogUse } from '../../log/append-with-retry.ts'
import type { FactId } from '../../runtime/ids/fact-id.ts'
import { type Balance, type DebitEvent, dayOf, decideDebit, type Payer } from './balance.ts'
import { createDebitLog } from './debit-log.ts'
import {
  createPayerQueue,
  type Debit,
  type Debited,
  type PayerQueue,
  requireSameRequest,
} from './payer-queue.ts'
import { quotaExhaustedError } from './quota-block.ts'
import { createUsedKeys, type DebitIndex, type UsedKeys } from './used-keys.ts'

export interface QuotaLedgerOptions extends LogUse {
  /** The used idempotency keys: a read model of the same log in this process. */
  readonly index: DebitIndex
  readonly idOf: FactId
  /** The address that sells single calls of a tool, for payers without calls left. By default there is none. */
  readonly payPerCall?: (tool: string) => string | undefined
}

/**
 * Counts calls: a debit and its answer are one event in the payer's stream of the window, appended with an
 * explicit revision. So there is no debit without its answer and no answer without its debit, and no more than
 * the limit, however many processes count for one payer.
 */
export interface QuotaLedger {
  /**
   * A cheap look at whether a call would be refused, before it is computed. It decides nothing.
   *
   * @param at when the call began, Unix milliseconds
   * @throws ServiceError `quota_exhausted`, `rate_limited`, `store_unavailable`
   */
  look(payer: Payer, tool: string, at: number): Promise<void>
  /**
   * The stored answer of an idempotency key, whichever window and process it was used in.
   *
   * @returns undefined for a key that is new
   * @throws ServiceError `idempotency_mismatch`, `store_unavailable`
   */
  find(payer: Payer, key: { idempotencyHash: string; requestHash: string }): Promise<Debited | undefined>
  /**
   * Counts a call together with its answer; durable when it resolves. A key that another process used in the
   * meantime gets that process' answer.
   *
   * @throws ServiceError `quota_exhausted`, `idempotency_mismatch`, `rate_limited`, `store_unavailable`,
   *   `store_full`. Nothing was charged then; only where the log did not confirm in time is that not known, which
   *   the message says: repeated with its key, the call is counted once.
   */
  debit(payer: Payer, debit: Debit, at: number): Promise<Debited>
  /** A payer's balance in its window, from the cache or the log. */
  balance(payer: Payer): Promise<Balance>
  /**
   * Counted calls of a window, newest first.
   *
   * @param place the window, and the revision in front of which to begin; from the newest without it
   */
  debitsBefore(
    payerId: string,
    place: { readonly window: string; readonly revision?: number },
    limit: number,
  ): Promise<DebitEvent[]>
}

interface Account {
  readonly queue: PayerQueue
  readonly keys: UsedKeys
}

/** Payers that are forgotten together. */
const PAYERS_DROPPED = LIMITS.payersKept / 10

/**
 * A queue with work under way is kept, so that two queues never decide for one payer. Evicts many at a time: finding
 * the first entry of a map takes longer the more entries before it were deleted.
 */
function dropOldest(accounts: Map<string, Account>): void {
  if (accounts.size < LIMITS.payersKept) return
  for (const [payerId, { queue }] of accounts) {
    if (accounts.size < LIMITS.payersKept - PAYERS_DROPPED) return
    if (queue.isIdle) accounts.delete(payerId)
  }
}

export function createQuotaLedger(options: QuotaLedgerOptions): QuotaLedger {
  const { store, index, idOf, newId, now, sleep, signal, payPerCall = () => undefined } = options
  const log = createDebitLog(options)
  /** In the order of their last use. */
  const accounts = new Map<string, Account>()

  function accountOf(payerId: string): Account {
    const cached = accounts.get(payerId)
    if (cached !== undefined) {
      accounts.delete(payerId)
      accounts.set(payerId, cached)
      return cached
    }
    dropOldest(accounts)
    const keys = createUsedKeys(payerId, { index, head: () => store.head(), now, sleep, signal })
    const account = { queue: createPayerQueue(payerId, { log, keys, now, payPerCall }), keys }
    accounts.set(payerId, account)
    return account
  }

  const known = async ({ queue }: Account, payer: Payer): Promise<Balance> =>
    queue.balance(payer.window.id) ?? (await queue.refresh(payer))

  return {
    async look(payer, tool, at) {
      const account = accountOf(payer.id)
      const problem = log.problem()
      if (problem !== undefined) throw storeAwayError(problem)
      if (account.queue.waiting >= LIMITS.debitsWaiting) throw tooManyWaitingError()
      const balance = await known(account, payer)
      const decision = decideDebit(balance, payer.tier, dayOf(at, payer.window))
      if (decision.kind === 'debit') return
      throw quotaExhaustedError(payer, balance, decision.exhausted, at, payPerCall(tool))
    },

    async find(payer, { idempotencyHash, requestHash }) {
      const account = accountOf(payer.id)
      // From here on every event of the stream is seen; what came before is in the index.
      await known(account, payer)
      const place = await account.keys.lookUp(idempotencyHash)
      if (place === undefined) return undefined
      requireSameRequest(place, requestHash)
      return account.queue.replay(payer, place)
    },

    debit(payer, debit, at) {
      const { queue } = accountOf(payer.id)
      if (queue.waiting >= LIMITS.debitsWaiting) return Promise.reject(tooManyWaitingError())
      const { idempotencyHash } = debit
      const id = idempotencyHash === null ? newId() : idOf('debit', payer.id, idempotencyHash)
      return queue.push({ payer, at, since: now(), id, debit })
    },

    balance: (payer) => known(accountOf(payer.id), payer),

    debitsBefore: (payerId, { window, revision }, limit) =>
      log.before(quotaStream(payerId, window), revision, limit),
  }
}

const storeAwayError = (cause: ServiceError): ServiceError =>
  new ServiceError('store_unavailable', {
    message: 'The log takes no debits at the moment, so nothing is computed and nothing is charged.',
    isForCallers: true,
    cause,
  })

const tooManyWaitingError = (): ServiceError =>
  new ServiceError('rate_limited', {
    message: `${LIMITS.debitsWaiting} calls of this caller wait to be counted already`,
    details: { retry_after_s: 1 },
  })
