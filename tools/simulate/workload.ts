import { isServiceError } from '../../contracts/errors/errors.ts'
import type { PaidCall } from '../../services/tool-calls/index.ts'
import type { Random } from '../cluster/random.ts'
import type { CallSeen } from '../cluster/records.ts'
import { ConnectionLost, type World } from './world.ts'

/** A request that was paid for, as its payer saw it. */
export interface PaidSeen {
  readonly payer: `0x${string}`
  readonly nonce: `0x${string}`
  readonly code: string
  /** The answer; undefined where there was none. */
  readonly verdictId: string | undefined
}

/** A subscription that its owner was told of. */
export interface SubscribedAddress {
  readonly subscriptionId: string
  readonly url: string
}

/** Answers that callers and payers saw. */
export interface Seen {
  readonly calls: CallSeen[]
  readonly paid: PaidSeen[]
  /** Secrets of payments by their nonces: they open an answer once its payment is on the chain. */
  readonly secrets: Map<string, string>
}

/** A payment that is signed, to be presented as often as need be. */
export interface SignedPayment {
  readonly payer: `0x${string}`
  readonly nonce: `0x${string}`
  readonly header: string
}

/** Refusals that are no fault: the request is sent again. */
const REFUSALS: ReadonlySet<string> = new Set([
  'append_unknown',
  'dependency_unavailable',
  'key_unknown',
  'key_unverifiable',
  'outcome_unknown',
  'payment_pending',
  'payment_refused',
  'payment_unproven',
  'payments_unavailable',
  'quota_exhausted',
  'rate_limited',
  'shutting_down',
  'store_full',
  'store_unavailable',
])

export interface WorkloadOptions {
  readonly world: World
  readonly random: Random
  readonly seen: Seen
  /** Whether it is still to be asked for anything new. */
  readonly isOpen: () => boolean
}

/** A key of an account, made however long it takes. */
export async function openAccount({ world, random }: Pick<WorkloadOptions, 'world' | 'random'>) {
  for (;;) {
    try {
      return await random
        .pick(world.places)
        .ask((service) => service.accounts.createKey({}, { label: 'simulated', tier: 'pro' }, ORIGIN))
    } catch (error) {
      requireExpected(world, error)
      await world.time.sleep(500)
    }
  }
}

export type OpenedAccount = Awaited<ReturnType<typeof openAccount>>

const ORIGIN = { correlationId: 'workload', actor: 'simulated' }

/** Subscribes an address to all signals, however long it takes: one whose answer was lost may be there, so each try has its own. */
export async function subscribe(
  { world, random }: Pick<WorkloadOptions, 'world' | 'random'>,
  accountId: string,
  address: string,
): Promise<SubscribedAddress> {
  for (let tries = 0; ; tries++) {
    const url = `${address}${tries}`
    try {
      const { subscription } = await random
        .pick(world.places)
        .ask((service) =>
          service.subscriptions.create(
            accountId,
            { url, events: ['trade_call', 'regime_shift'], start: 'now' },
            ORIGIN,
          ),
        )
      return { subscriptionId: subscription.subscriptionId, url }
    } catch (error) {
      requireExpected(world, error, ['account_unknown'])
      await world.time.sleep(1_000)
    }
  }
}

/** Asks for tools: with a key and without, plain and repeatable, at one process and at several. */
export async function makeCalls(options: WorkloadOptions, account: OpenedAccount): Promise<void> {
  const { world, random, isOpen } = options
  const underWay: Promise<unknown>[] = []
  for (let n = 0; isOpen(); n++) {
    await world.time.sleep(random.between(50, 2_000))
    const isKeyed = random.chance(0.5)
    const authorization = random.chance(0.6) ? `Bearer ${account.key}` : undefined
    if (!isKeyed) underWay.push(callOnce(options, authorization, undefined))
    else underWay.push(callUntilAnswered(options, authorization, `key-${n}-${random.below(1e9)}`))
  }
  await Promise.all(underWay)
}

async function callUntilAnswered(
  options: WorkloadOptions,
  authorization: string | undefined,
  idempotencyKey: string,
): Promise<void> {
  const { world, random } = options
  const first = callOnce(options, authorization, idempotencyKey)
  if (random.chance(0.5)) await first
  for (let tries = 0; tries < 12; tries++) {
    if (await callOnce(options, authorization, idempotencyKey)) break
    await world.time.sleep(random.between(200, 3_000))
  }
  await first
}

async function callOnce(
  { world, random, seen }: WorkloadOptions,
  authorization: string | undefined,
  idempotencyKey: string | undefined,
): Promise<boolean> {
  const requestId = `request-${seen.calls.length}-${random.below(1e9)}`
  const at = world.time.now()
  const told = (change: Partial<CallSeen>): CallSeen => ({
    at,
    tookMs: world.time.now() - at,
    account: authorization ?? 'nobody',
    isFree: authorization === undefined,
    idempotencyKey: idempotencyKey && `${authorization} ${idempotencyKey}`,
    isOk: false,
    status: 0,
    code: undefined,
    message: '',
    requestId,
    used: undefined,
    verdictId: undefined,
    ...change,
  })
  try {
    const { body, isReplay } = await random.pick(world.places).ask((service) =>
      service.calls.call({
        tool: 'get_trade_call',
        request: { coin: 'BTC' },
        authorization,
        address: '203.0.113.9',
        idempotencyKey,
        requestId,
        channel: 'http',
      }),
    )
    const { verdict_id: verdictId, _service: service } = body as unknown as {
      readonly verdict_id: string
      readonly _service: { readonly quota: { readonly used: number } }
    }
    world.time.note(`${requestId} answered ${isReplay}`)
    seen.calls.push(told({ isOk: true, status: 200, used: service.quota.used, verdictId }))
    return true
  } catch (error) {
    const code = requireExpected(world, error)
    seen.calls.push(told({ status: code === LOST ? 0 : 503, code, message: String(error) }))
    return code === 'quota_exhausted'
  }
}

/** Pays for calls, each payment presented until it is answered, and now and then to two processes at once. */
export async function makePayments(
  options: WorkloadOptions,
  payments: readonly SignedPayment[],
): Promise<void> {
  const { world, random, isOpen } = options
  const underWay: Promise<unknown>[] = []
  for (const payment of payments) {
    if (!isOpen()) break
    await world.time.sleep(random.between(100, 8_000))
    underWay.push(payUntilAnswered(options, payment))
    if (random.chance(0.4)) underWay.push(payUntilAnswered(options, payment))
  }
  await Promise.all(underWay)
}

async function payUntilAnswered(options: WorkloadOptions, payment: SignedPayment): Promise<void> {
  for (let tries = 0; tries < 10; tries++) {
    if (await payOnce(options, payment)) return
    await options.world.time.sleep(options.random.between(200, 5_000))
  }
}

async function payOnce({ world, random, seen }: WorkloadOptions, payment: SignedPayment): Promise<boolean> {
  const { payer, nonce } = payment
  const secret = seen.secrets.get(nonce)
  const call: PaidCall = {
    tool: 'get_trade_call',
    body: { lenient: BODY, isEmpty: false, require: () => BODY },
    rawHeaders: ['X-PAYMENT', payment.header, ...(secret === undefined ? [] : ['Payment-Secret', secret])],
    authorization: undefined,
    address: '203.0.113.9',
    idempotencyKey: undefined,
    requestId: `request-${random.below(1e9)}`,
    signal: () => new AbortController().signal,
  }
  try {
    const outcome = await random.pick(world.places).ask((service) => service.paid.tools.call(call))
    const isAnswer = outcome.kind === 'answer'
    const verdictId = isAnswer ? (outcome.body['verdict_id'] as string) : undefined
    const code = isAnswer ? 'answered' : `${outcome.refusal.code}: ${outcome.refusal.message}`
    world.time.note(`${nonce} ${code}`)
    if (isAnswer) noteSecret(seen, nonce, outcome.body['_service'])
    seen.paid.push({ payer, nonce, code, verdictId })
    return isAnswer
  } catch (error) {
    seen.paid.push({ payer, nonce, code: requireExpected(world, error), verdictId: undefined })
    return false
  }
}

function noteSecret({ secrets }: Seen, nonce: string, service: unknown): void {
  const { payment } = service as { readonly payment: { readonly secret: string } | null }
  if (payment !== null) secrets.set(nonce, payment.secret)
}

const BODY = { coin: 'BTC' }
const LOST = 'connection_lost'

/** Code of a refusal that may happen; anything else is a fault of the program. @returns its code */
function requireExpected(world: World, error: unknown, besides: readonly string[] = []): string {
  if (error instanceof ConnectionLost) return LOST
  if (isServiceError(error) && (REFUSALS.has(error.code) || besides.includes(error.code))) return error.code
  world.faults.push(`a request failed: ${error instanceof Error ? error.stack : String(error)}`)
  return 'internal_error'
}
