import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Hex, parseAbiItem } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requirePaymentChain } from '../../contracts/domain/chain.ts'
import { decodeEvent } from '../../contracts/events/event-catalogue.ts'
import { openEmbeddedStore } from '../log/embedded/embedded-store.ts'
import { evolvePayment, isOpen, type Payment } from '../payments/payment.ts'
import {
  type ServedFacilitator,
  serveReferenceFacilitator,
} from '../payments/testing/chain/reference-facilitator.ts'
import { signAuthorization } from '../payments/testing/chain/sign-authorization.ts'
import { missingChain, startTestChain, type TestChain } from '../payments/testing/chain/test-chain.ts'
import { encoded, paymentV2 } from '../payments/testing/sign-payment.ts'
import { sleep } from '../runtime/async/sleep.ts'

const START = join(import.meta.dirname, '../start.js')
/** New answers in each life of the service; then it is killed while others are on their way. */
const ANSWERS_IN_A_LIFE = [54, 5] as const
/** Callers that pay one after the other; together they owe more than one payer may, so some wait for their money. */
const CALLERS = 6
const FUNDS = 20_000_000n
const PRICE = 20_000n
const VALID_S = 600
const BODY = JSON.stringify({ coin: 'BTC', timeframe: '1h' })
const never = new AbortController().signal
/** A chain that is known by its number alone. */
const ON = requirePaymentChain('eip155:31337', '0x5D77289c07401197e641F31EC228ac9196219079')
const PAY_TO = privateKeyToAccount(generatePrivateKey()).address

interface Life {
  readonly url: string
  readonly payTo: Hex
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>
}

/** A payment that a caller has signed, and what was answered to it. */
interface Order {
  readonly payment: string
  /** Opens the answer once the signature can be read on the chain. */
  secret?: string
  answer?: string
  statusUrl?: string
}

describe.skipIf(missingChain !== undefined)(`a service on a chain of its own ${missingChain ?? ''}`, () => {
  let folder: string
  let life: Life | undefined
  let chain: TestChain
  let facilitator: ServedFacilitator
  let payer: PrivateKeyAccount
  const orders: Order[] = []
  /** Whether the time of the test is over: who goes on then keeps its process from ending. */
  let isLate = (): boolean => false

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'paid-service-'))
    payer = privateKeyToAccount(generatePrivateKey())
    chain = await startTestChain({ on: ON, blockTimeS: 1 })
    facilitator = await serveReferenceFacilitator(chain.rpcUrl, await chain.gasWallet(), ON)
    await chain.mint(payer.address, FUNDS)
  })
  afterAll(async () => {
    await life?.end('SIGTERM')
    facilitator.close()
    await chain.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  async function start(): Promise<Life> {
    const args = [START, '--port', '0', '--data-dir', folder, '--coins', 'BTC']
    const child: ChildProcess = spawn(process.execPath, args, {
      env: {
        PATH: process.env.PATH,
        FRESH: 'true',
        TIMEFRAMES: '1h',
        RATE_PER_ADDRESS: 'off',
        LOG_LEVEL: 'error',
        X402_NETWORK: ON.network,
        X402_ASSET: ON.usdc,
        X402_PAY_TO: PAY_TO,
        X402_RPC_URL: chain.rpcUrl,
        X402_FACILITATOR_URL: facilitator.url,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = once(child, 'exit')
    if (child.stdout === null) return expect.fail('the service has no output')
    let banner = ''
    for await (const line of createInterface({ input: child.stdout })) {
      banner += `${line}\n`
      if (line.includes('/readyz')) break
    }
    child.stdout.resume()
    const [, url = ''] = /(http:\S+)\/ +the board/.exec(banner) ?? expect.fail(`it ended: ${banner}`)
    const offered = await fetch(`${url}/x402/get_trade_call`)
    // Clients of version 1 know chains by name, and this one has none: the body has the offers of version 2.
    expect(await offered.json()).toMatchObject({ x402Version: 2, accepts: [{ network: ON.network }] })
    // One rail: there is no gateway.
    const inHeader = Buffer.from(offered.headers.get('payment-required') ?? '', 'base64').toString()
    const { accepts } = JSON.parse(inHeader) as { accepts: { payTo: Hex; network: string; asset: string }[] }
    expect(accepts).toMatchObject([{ network: ON.network, asset: ON.usdc }])
    const payTo = accepts[0]?.payTo ?? expect.fail('nothing is offered')
    return {
      url,
      payTo,
      async end(signal) {
        child.kill(signal)
        await exited
      },
    }
  }

  async function order(payTo: Hex): Promise<Order> {
    const validBefore = BigInt(Math.floor(Date.now() / 1_000) + VALID_S)
    const signed = await signAuthorization(payer, { on: ON, payTo, value: PRICE, validBefore })
    const terms = { ...signed, rail: 'direct' as const }
    const one = { payment: encoded(paymentV2(terms, signed.signature)) }
    orders.push(one)
    return one
  }

  /**
   * True once it is answered; a connection that breaks, and money that takes its time, leave it to be asked again. A
   * payer that no answer has reached before its transaction was on the chain has no secret, and no answer.
   */
  async function ask({ url }: Life, one: Order): Promise<boolean> {
    const headers = {
      'content-type': 'application/json',
      'payment-signature': one.payment,
      ...(one.secret !== undefined && { 'payment-secret': one.secret }),
    }
    let response: Response
    let body: {
      code?: string
      details?: { payment_secret?: string }
      _service?: { payment: { status_url: string; secret: string } }
    }
    try {
      response = await fetch(`${url}/x402/get_trade_call`, { method: 'POST', headers, body: BODY })
      body = (await response.json()) as typeof body
    } catch (error) {
      if (error instanceof TypeError) return false
      throw error
    }
    if (body.code === 'payment_pending') {
      const { payment_secret: secret } = body.details ?? {}
      if (secret !== undefined) one.secret = secret
      return false
    }
    if (body.code === 'payment_unproven' && one.secret === undefined) return true
    const { _service: service, ...answer } = body
    if (response.status !== 200 || service === undefined) return expect.fail(JSON.stringify(body))
    const text = JSON.stringify(answer)
    expect(one.answer ?? text).toBe(text)
    one.answer = text
    one.statusUrl = service.payment.status_url
    one.secret = service.payment.secret
    return true
  }

  /** Callers that pay until so many have been answered; then the service is killed under the others. */
  async function liveUntil(answers: number): Promise<void> {
    const living = await start()
    life = living
    let answered = 0
    let isOver = false
    const open = orders.filter(({ answer }) => answer === undefined)
    const call = async (): Promise<void> => {
      while (!isOver && !isLate()) {
        const one = open.pop() ?? (await order(living.payTo))
        const isAnswered = await ask(living, one)
        if (!isAnswered) open.push(one)
        answered += Number(isAnswered)
        if (answered < answers || isOver) continue
        isOver = true
        await living.end('SIGKILL')
      }
    }
    await Promise.all(Array.from({ length: CALLERS }, call))
    life = undefined
  }

  /** Resolves when the service says of every payment that nothing can undo it. */
  async function allFinal(): Promise<void> {
    const left = new Set(orders.filter(({ statusUrl }) => statusUrl !== undefined))
    while (left.size > 0 && !isLate()) {
      for (const one of left) {
        const { state } = (await (await fetch(one.statusUrl ?? '')).json()) as Payment
        if (state === 'final') left.delete(one)
        else break
      }
      await sleep(100, never)
    }
  }

  /** The events of every payment in the log. */
  async function logged() {
    const store = await openEmbeddedStore({ directory: join(folder, 'simulated'), now: Date.now })
    const payments = new Map<string, Payment>()
    let claims = 0
    for await (const recorded of store.readAll({ filter: { streamPrefixes: ['payment-'] } })) {
      const event = decodeEvent(recorded)
      if (event.type === 'PaymentClaimed') claims += 1
      const payment = evolvePayment(payments.get(event.stream), event)
      if (payment !== undefined) payments.set(event.stream, payment)
    }
    await store.close()
    return { claims, payments: [...payments.values()] }
  }

  test(`is killed ${ANSWERS_IN_A_LIFE.length} times under paying callers, and log and chain agree to the millionth`, async ({
    signal,
  }) => {
    isLate = () => signal.aborted
    for (const answers of ANSWERS_IN_A_LIFE) await liveUntil(answers)
    const last = await start()
    life = last
    // Who was not answered asks again, and who was has the same answer: `ask` compares them.
    for (const one of orders) while (!(await ask(last, one)) && !isLate());
    await allFinal()

    const used = await chain.node.getLogs({
      address: ON.usdc,
      event: parseAbiItem('event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)'),
      args: { authorizer: payer.address },
      fromBlock: 0n,
    })
    const [left, got] = await Promise.all([chain.balanceOf(payer.address), chain.balanceOf(last.payTo)])
    await last.end('SIGTERM')
    life = undefined
    const { claims, payments } = await logged()
    expect(claims).toBe(orders.length)
    expect(payments).toHaveLength(orders.length)
    expect(payments.filter(isOpen)).toEqual([])
    const spent = payments.reduce((sum, { value }) => sum + BigInt(value), 0n)
    expect([got, FUNDS - left]).toEqual([spent, spent])
    expect(new Set(used.map(({ args }) => args.nonce)).size).toBe(orders.length)
    expect(used).toHaveLength(orders.length)
  }, 240_000)
})
