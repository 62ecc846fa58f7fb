import type { ServiceBlock } from '../../contracts/answers/service-block.ts'
import { assert } from '../../contracts/errors/assert.ts'
import type { MarketKind } from '../../contracts/events/event-catalogue.ts'
import { type JsonObject, JsonText, textOf } from '../../contracts/infra/json.ts'
import { type ToolName, toolNamed } from '../../contracts/tools/tool-catalogue.ts'
import {
  type Debit,
  type Debited,
  freeWindow,
  type Identify,
  type Payer,
  type QuotaLedger,
  quotaBlock,
} from '../accounts/index.ts'
import type { Clock } from '../runtime/async/clock.ts'
import { createSingleFlight } from '../runtime/async/single-flight.ts'
import { authBlock, requireVerified, type VerifiedIdentity, withKeyNotice } from './caller-identity.ts'
import { idempotencyHash, requestHash } from './idempotency-key.ts'
import { type CallPath, type ToolAnswer, type ToolCall, withService } from './tool-call.ts'

export interface CallPathOptions extends Pick<Clock, 'now'> {
  readonly identify: Identify
  /** The payer that an address without a key is; the same for all addresses of one IPv6 network (/64). */
  readonly anonymousPayer: (address: string) => string
  readonly ledger: Pick<QuotaLedger, 'look' | 'find' | 'debit'>
  /**
   * Turns away who calls without a key from a place where very many can.
   *
   * @throws ServiceError `quota_exhausted`
   */
  readonly admitAnonymous?: (address: string) => Promise<void>
  /** Computes for a payer; what it throws costs nothing. */
  readonly answer: (tool: ToolName, request: unknown, payerId: string) => Promise<JsonObject>
  readonly market: MarketKind
  readonly version: string
}

/** A call under way: its payer, its request, and its idempotency key. */
interface Pending {
  readonly call: ToolCall
  readonly tool: ToolName
  readonly payer: Payer
  readonly keyId: string | null
  /** When it began. */
  readonly at: number
  readonly requestHash: string
  readonly idempotencyHash: string | null
}

/** A counted call, and its answer as an object where it was computed here. */
interface Counted extends Debited {
  readonly computed?: JsonObject
}

const NOTICE =
  'Information, not advice. Every answered call is counted, also with HOLD; refused calls and errors are not.'

/**
 * The one path of a tool call: identify → check quota → compute → commit → answer. The commit is one append
 * that holds the debit and the answer; before it nothing was charged, and behind it nothing is left to do.
 */
export function createCallPath(options: CallPathOptions): CallPath {
  const { identify, anonymousPayer, ledger, answer, now } = options
  /** Calls with an idempotency key; who repeats one meanwhile waits for its outcome. */
  const flights = createSingleFlight<Counted>()

  async function count(pending: Pending): Promise<Counted> {
    const { call, tool, payer, at } = pending
    await ledger.look(payer, tool, at)
    const computed = await answer(tool, call.request, payer.id)
    const debited = await ledger.debit(payer, debitOf(pending, textOf(computed).text), at)
    return debited.isReplay ? debited : { ...debited, computed }
  }

  /** The first of a key computes, unless it was answered before; the others have what it has. */
  async function countOnce(pending: Pending, hash: string): Promise<Counted> {
    const { payer } = pending
    const key = { idempotencyHash: hash, requestHash: pending.requestHash }
    const { value, isShared } = await flights.run(
      `${payer.id} ${hash}`,
      pending.requestHash,
      async () => (await ledger.find(payer, key)) ?? count(pending),
    )
    return isShared ? { ...value, isReplay: true } : value
  }

  async function callAs(identity: VerifiedIdentity, call: ToolCall): Promise<ToolAnswer> {
    const tool = toolNamed(call.tool)
    const at = now()
    const isOk = identity.outcome === 'OK'
    if (!isOk) await options.admitAnonymous?.(call.address)
    const payer: Payer = isOk
      ? { id: identity.accountId, tier: identity.tier, window: identity.window }
      : { id: anonymousPayer(call.address), tier: 'free', window: freeWindow(at) }
    const { idempotencyKey } = call
    const hash = idempotencyKey === undefined ? null : idempotencyHash(payer.id, idempotencyKey)
    const pending: Pending = {
      call,
      tool,
      payer,
      at,
      keyId: isOk ? identity.keyId : null,
      requestHash: requestHash(tool, call.request),
      idempotencyHash: hash,
    }
    const counted = hash === null ? await count(pending) : await countOnce(pending, hash)
    assert(counted.answer !== '', 'a debit has its answer', call.requestId)
    assert(counted.isReplay || counted.balance.used > 0, 'a call that was counted is in the balance')
    const stored = counted.computed ?? (JSON.parse(counted.answer) as JsonObject)
    const text = textOf(stored, counted.computed === undefined ? new JsonText(counted.answer) : undefined)
    const service = serviceBlock(options, pending, identity.outcome, counted)
    return { ...withService(stored, text, service), isReplay: counted.isReplay }
  }

  return {
    async call(call) {
      const identity = requireVerified(await identify(call.authorization))
      try {
        return await callAs(identity, call)
      } catch (error) {
        throw withKeyNotice(identity, error)
      }
    },
  }
}

/** Longest trace context that an event takes; a longer one is not one. */
const TRACEPARENT_CHARACTERS = 128

function debitOf({ call, tool, keyId, ...pending }: Pending, answer: string): Debit {
  const { channel, requestId, traceparent } = call
  const isTrace = traceparent !== undefined && traceparent.length <= TRACEPARENT_CHARACTERS
  return {
    tool,
    channel,
    keyId,
    requestHash: pending.requestHash,
    idempotencyHash: pending.idempotencyHash,
    answer,
    requestId,
    ...(isTrace && { traceparent }),
  }
}

function serviceBlock(
  { version, market, now }: CallPathOptions,
  { call, tool, payer }: Pending,
  outcome: VerifiedIdentity['outcome'],
  { balance }: Counted,
): ServiceBlock {
  return {
    version,
    tool,
    request_id: call.requestId,
    market,
    auth: authBlock(outcome, payer.tier),
    quota: quotaBlock(payer, balance, now()),
    notice: NOTICE,
  }
}
