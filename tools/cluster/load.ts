import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { signAuthorization } from '../../services/payments/testing/chain/sign-authorization.ts'
import { encoded, paymentV2 } from '../../services/payments/testing/sign-payment.ts'
import { stateOf } from './audit.ts'
import type { PaidChain } from './chain.ts'
import type { Member } from './member.ts'
import type { Receiver } from './receiver.ts'
import type { CallSeen, PaymentSeen, Records, SubscriptionMade } from './records.ts'

const SUBSCRIPTIONS = 8
const COINS = ['BTC', 'ETH']
const TIMEFRAMES = ['1m', '5m', '1h']
const FREE_BURST = 110
/** Price of a call, millionths of a USDC. */
const PRICE = 20_000n
const PAYMENT_VALID_S = 290

interface Account {
  readonly id: string
  readonly key: string
  readonly isFree: boolean
}

interface Answer {
  readonly status: number
  readonly requestId: string | undefined
  readonly body: Record<string, unknown>
  readonly error: string | undefined
}

/** Body of a refusal. */
interface Told {
  readonly code?: string
  readonly message?: string
}

interface Answered {
  readonly verdict_id: string
  readonly _service: { readonly request_id?: string; readonly quota?: { readonly used?: number } }
}

interface PaidAnswer {
  readonly verdict_id: string
  readonly _service: { readonly payment: { readonly id: string } }
}

interface ToolResult {
  readonly isError?: boolean
  readonly structuredContent?: Told & Partial<Answered>
}

export interface LoadOptions {
  /** Processes that answer callers. */
  readonly members: readonly Member[]
  readonly operatorToken: string
  readonly receiver: Receiver
  readonly records: Records
  /** Calls a second, without those of bursts and keys. */
  readonly rate: number
  /** Undefined where nobody is paid. */
  readonly chain: PaidChain | undefined
  readonly random: () => number
}

export interface Load {
  stop(): Promise<void>
  /** Asks every process what its read models say of the accounts and the payments. */
  readBack(): Promise<void>
}

/** Callers of a cluster: plain calls, repeated ones under a key, crowds on a free account, fresh keys, webhooks. */
// oxlint-disable-next-line max-lines-per-function -- the kinds of load count into one report
export async function startLoad(options: LoadOptions): Promise<Load> {
  const { members, operatorToken, receiver, records, rate, random } = options
  const ending = new AbortController()
  const isRunning = (): boolean => !ending.signal.aborted
  const pick = <One>(list: readonly One[]): One => list[Math.floor(random() * list.length)] as One
  const underWay = new Set<Promise<unknown>>()
  const inBackground = (work: Promise<unknown>): void => {
    const done = work
      .catch((error: unknown) => records.faults.push(String(error)))
      .finally(() => underWay.delete(done))
    underWay.add(done)
  }

  async function ask(
    base: string,
    path: string,
    {
      method = 'POST',
      key,
      body,
      headers = {},
    }: { method?: string; key?: string | undefined; body?: unknown; headers?: object },
  ): Promise<Answer> {
    try {
      const response = await fetch(base + path, {
        method,
        headers: {
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          'content-type': 'application/json',
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(40_000),
      })
      const text = await response.text()
      const parsed: unknown = text.startsWith('{') ? JSON.parse(text) : {}
      const requestId = response.headers.get('x-request-id') ?? undefined
      return { status: response.status, requestId, body: parsed as Record<string, unknown>, error: undefined }
    } catch (error) {
      return { status: 0, requestId: undefined, body: {}, error: String(error) }
    }
  }
  async function insist(path: string, request: Parameters<typeof ask>[2]): Promise<Record<string, unknown>> {
    for (let tries = 0; tries < 60; tries++) {
      const { status, body } = await ask(pick(members).url, path, request)
      if (status === 201) return body
      await pause(500)
    }
    throw new Error(`${path} did not succeed`)
  }
  async function newAccount(tier: string): Promise<Account> {
    const made = await insist('/operator/keys', { key: operatorToken, body: { tier } })
    return { id: String(made['account_id']), key: String(made['key']), isFree: tier === 'free' }
  }

  async function call(
    account: Account,
    base: string,
    idempotencyKey?: string,
    coin = pick(COINS),
  ): Promise<CallSeen> {
    const [at, began] = [Date.now(), performance.now()]
    const args = { coin, timeframe: pick(TIMEFRAMES), include_factors: false }
    const params = {
      name: 'get_trade_call',
      arguments: idempotencyKey === undefined ? args : { ...args, timeframe: '1h' },
    }
    const { status, requestId, body, error } = await ask(base, '/mcp', {
      key: account.key,
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
      headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
    })
    const told = body as Told & { readonly error?: unknown; readonly result?: ToolResult }
    const { result } = told
    const content: Told & Partial<Answered> = result?.structuredContent ?? {}
    const { _service: service } = content
    const isOk = status === 200 && result?.isError === false
    const seen: CallSeen = {
      at,
      tookMs: performance.now() - began,
      account: account.id,
      isFree: account.isFree,
      idempotencyKey,
      isOk,
      status,
      code: isOk ? undefined : (content.code ?? told.code ?? JSON.stringify(told.error ?? error)),
      message: isOk ? '' : (content.message ?? told.message ?? ''),
      requestId: service?.request_id ?? requestId,
      used: service?.quota?.used,
      verdictId: content.verdict_id,
    }
    records.calls.push(seen)
    return seen
  }

  async function subscribe(owner: Account, index: number): Promise<void> {
    const path = `/hook/${randomUUID()}`
    const filters: SubscriptionMade['filter'][] = [
      { events: ['trade_call', 'regime_shift'] },
      { events: ['regime_shift'] },
      { events: ['trade_call'], timeframes: ['5m', '1h'] },
    ]
    const filter = filters[index % filters.length] as SubscriptionMade['filter']
    const made = await insist('/api/webhooks', {
      key: owner.key,
      headers: { 'idempotency-key': randomUUID() },
      body: { url: receiver.url + path, ...filter },
    })
    receiver.knows(path, String(made['secret']))
    const { position } = made['cursor'] as { readonly position: string }
    records.subscriptions.push({ id: String(made['id']), accountId: owner.id, path, start: position, filter })
  }

  async function plainCalls(accounts: readonly Account[]): Promise<void> {
    while (isRunning()) {
      inBackground(call(pick(accounts), pick(members).url))
      await pause((1_000 / rate) * (0.5 + random()))
    }
  }
  /** The same call under one key at two processes, together or one behind the other, until it is answered. */
  async function keyedCalls(accounts: readonly Account[]): Promise<void> {
    const twice = async (): Promise<void> => {
      const [account, key, coin] = [pick(accounts), randomUUID(), pick(COINS)]
      const first = call(account, pick(members).url, key, coin)
      if (random() < 0.5) await first
      for (let tries = 0; tries < 12; tries++) {
        const { isOk, code } = await call(account, pick(members).url, key, coin)
        if (isOk || code === 'quota_exhausted') break
        await pause(1_500)
      }
      await first
    }
    while (isRunning()) {
      inBackground(twice())
      await pause(1_000)
    }
  }
  /** A free account has a hundred calls a day, however many processes it asks at once. */
  async function freeBurst(): Promise<void> {
    const account = await newAccount('free')
    for (let n = 0; n < FREE_BURST && isRunning(); n++) {
      inBackground(call(account, members[n % members.length]?.url ?? ''))
      await pause(80)
    }
  }
  async function freshKeys(owner: Account): Promise<void> {
    let account = owner
    while (isRunning()) {
      await pause(2_500)
      const [one, other] = [pick(members), pick(members)]
      const made = await ask(one.url, '/api/keys', { key: account.key, body: { label: 'fresh' } })
      // An account may change its keys thirty times in an hour.
      if (made.status === 429) account = await newAccount('pro')
      if (made.status !== 201) continue
      const { status, body } = await ask(other.url, '/api/account', {
        method: 'GET',
        key: String(made.body['key']),
      })
      records.freshKeys.push({ at: Date.now(), status, code: body['code'] as string | undefined })
      await ask(one.url, `/api/keys/${String(made.body['key_id'])}`, { method: 'DELETE', key: account.key })
    }
  }

  /** A paid call, presented to one process after the other until it was answered twice. */
  async function paidCall({ payer, payTo }: PaidChain): Promise<void> {
    const validBefore = BigInt(Math.floor(Date.now() / 1_000) + PAYMENT_VALID_S)
    const signed = await signAuthorization(payer, { payTo, value: PRICE, validBefore })
    const payment = encoded(paymentV2({ ...signed, rail: 'direct' }, signed.signature))
    const answers: PaymentSeen['answers'][number][] = []
    for (let tries = 0; tries < 60 && answers.length < 2; tries++) {
      const { status, body } = await ask(pick(members).url, '/x402/get_trade_call', {
        headers: { 'payment-signature': payment },
        body: { coin: 'BTC', timeframe: '1h' },
      })
      const answer = body as unknown as PaidAnswer
      if (status === 200) {
        const { _service: service, verdict_id: verdictId } = answer
        answers.push({ at: Date.now(), paymentId: service.payment.id, verdictId })
      } else await pause(1_000)
    }
    records.payments.push({ nonce: signed.nonce, answers })
  }
  async function paidCalls(chain: PaidChain): Promise<void> {
    while (isRunning()) {
      inBackground(paidCall(chain))
      await pause(1_500)
    }
  }
  async function readOf(
    url: string,
    path: string,
    key: string | undefined,
    of: (body: Record<string, unknown>) => number | string,
  ) {
    for (let tries = 0; tries < 20; tries++) {
      const { status, body } = await ask(url, path, { method: 'GET', key })
      if (status === 200) return of(body)
      await pause(500)
    }
    return 'nothing'
  }

  // More than dispatchers, so that each has some of their subscriptions.
  const accounts = await Promise.all(Array.from({ length: 6 }, () => newAccount('pro')))
  const [owner] = accounts as [Account, ...Account[]]
  for (let index = 0; index < SUBSCRIPTIONS; index++)
    await subscribe(accounts[index % accounts.length] ?? owner, index)
  const { chain } = options
  const loops = [
    plainCalls(accounts),
    keyedCalls(accounts),
    freeBurst(),
    freshKeys(owner),
    ...(chain === undefined ? [] : [paidCalls(chain)]),
  ]
  return {
    async stop() {
      ending.abort()
      await Promise.all(loops)
      while (underWay.size > 0) await Promise.all(underWay)
    },
    async readBack() {
      // What was recorded last is folded everywhere by then.
      await pause(3_000)
      const paid = new Set(
        records.payments.flatMap(({ answers }) => answers.map(({ paymentId }) => paymentId)),
      )
      for (const { name: member, url } of members) {
        for (const { id: account, key } of accounts) {
          const sum = (body: Record<string, unknown>): number =>
            (body['days'] as readonly { readonly calls: number }[]).reduce(
              (total, { calls }) => total + calls,
              0,
            )
          records.reads.push({ member, of: { account }, says: await readOf(url, '/api/usage', key, sum) })
        }
        for (const paymentId of paid) {
          const state = (body: Record<string, unknown>): string => stateOf(String(body['state'])) ?? 'unknown'
          const says = await readOf(url, `/x402/payments/${paymentId}`, undefined, state)
          records.reads.push({ member, of: { paymentId }, says })
        }
      }
    },
  }
}
