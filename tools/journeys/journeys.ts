import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type RunningService, startService } from '../../services/composition/start-service.ts'
import { serveReferenceFacilitator } from '../../services/payments/testing/chain/reference-facilitator.ts'
import { signAuthorization } from '../../services/payments/testing/chain/sign-authorization.ts'
import {
  missingChain,
  startTestChain,
  type TestChain,
} from '../../services/payments/testing/chain/test-chain.ts'
import { encoded, PAY_TO, paymentV2 } from '../../services/payments/testing/sign-payment.ts'
import { readSettings } from '../../services/runtime/config/read-settings.ts'
import { type CallCounter, type Calls, countCalls, fileOf, functionOf } from './count-calls.ts'

/** A request of each kind is made so often; a file that only some of them ran was by chance, or for the first. */
const REQUESTS = 6
/** How long the idle service is watched that they are compared with. */
const IDLE_MS = 10_000
/** A request counts for what ran so many times more often than while idle. */
const MORE_OFTEN = 2
/** How long work goes on after an answer. */
const AFTER_MS = 400
const OPERATOR_TOKEN = 'operator-token-for-journeys'
const PRICE = 20_000n
/** Nothing is sent there. */
const PUBLIC_ADDRESS = '93.184.216.34'

/** A journey of ARCHITECTURE.md with the functions that ran for each of its requests, by file. */
export interface Journey {
  readonly name: string
  readonly files: ReadonlyMap<string, readonly string[]>
}

/** Why the journeys cannot be counted here; undefined where they can. */
export const missing = missingChain

/** Makes requests of all five kinds to a service in this process, and counts the files that ran for each. */
export async function countJourneys(): Promise<readonly Journey[]> {
  const counter = await countCalls()
  const folder = mkdtempSync(join(tmpdir(), 'journeys-'))
  const chain = await startTestChain()
  try {
    const [idle, verdict, paid, webhook, replay] = await requestJourneys(counter, folder, chain)
    return [verdict, paid, await webhookJourney(counter, idle, join(folder, 'webhooks')), webhook, replay]
  } finally {
    counter.stop()
    await chain.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function requestJourneys(
  counter: CallCounter,
  folder: string,
  chain: TestChain,
): Promise<readonly [Stretch, Journey, Journey, Journey, Journey]> {
  const market = { COINS: 'BTC', TIMEFRAMES: '1m,1h', OPERATOR_TOKEN, RATE_PER_ADDRESS: 'off' }
  const data = join(folder, 'data')
  // Quick until there is something to replay, then as slow as a clock: nothing else happens meanwhile.
  const past = await start({ ...market, MARKET_SPEED: '3000' }, data)
  while ((await text(past, '/api/verdicts?timeframe=1m')).split('\n').length < 30) await delay(200)
  await past.stop()
  const facilitator = await serveReferenceFacilitator(chain.rpcUrl, await chain.gasWallet())
  const service = await start(
    {
      ...market,
      MARKET_SPEED: '1',
      X402_PAY_TO: PAY_TO,
      X402_RPC_URL: chain.rpcUrl,
      X402_FACILITATOR_URL: facilitator.url,
    },
    data,
  )
  const mining = setInterval(() => void chain.mine(1), 200)
  try {
    const key = await issueKey(service)
    await delay(3_000)
    const idle = await stretchOf(counter, () => delay(IDLE_MS))
    const count = async (name: string, request: (number: number) => Promise<unknown>): Promise<Journey> =>
      journeyOf(name, idle, await requestCalls(counter, request))
    const payer = await chain.payer(10_000_000n)
    return [
      idle,
      await count('A caller with a key asks for a verdict', () => askOverMcp(service, key)),
      await count('A caller pays for one call', () => payForOne(service, payer)),
      await count('A subscriber creates a webhook', (number) =>
        post(service, '/api/webhooks', key, {
          url: `https://${PUBLIC_ADDRESS}/${number}`,
          events: ['trade_call'],
        }),
      ),
      await count('An analyst replays verdicts', () => text(service, '/api/verdicts?timeframe=1m&coin=BTC')),
    ]
  } finally {
    clearInterval(mining)
    await service.stop()
    facilitator.close()
  }
}

/** Bars close every second. */
async function webhookJourney(counter: CallCounter, idle: Stretch, data: string): Promise<Journey> {
  let arrived = (): void => undefined
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => response.end(() => arrived()))
  }).listen(0, '127.0.0.1')
  const service = await start(
    { TIMEFRAMES: '1h', MARKET_SPEED: '3600', OPERATOR_TOKEN, WEBHOOKS_ALLOW_PRIVATE: 'true' },
    data,
  )
  const next = (): Promise<void> =>
    new Promise((resolve) => {
      arrived = resolve
    })
  try {
    const { port } = receiver.address() as AddressInfo
    const url = `http://127.0.0.1:${port}/hook`
    await post(service, '/api/webhooks', await issueKey(service), {
      url,
      events: ['trade_call', 'regime_shift'],
    })
    await next()
    const calls = await requestCalls(counter, next)
    return journeyOf('A bar closes and a webhook is delivered', idle, calls)
  } finally {
    await service.stop()
    receiver.close()
    receiver.closeAllConnections()
  }
}

/** Calls in a stretch of time. */
interface Stretch {
  readonly calls: Calls
  readonly ms: number
}

async function stretchOf(counter: CallCounter, work: () => Promise<unknown>): Promise<Stretch> {
  await counter.take()
  const began = performance.now()
  await work()
  return { calls: await counter.take(), ms: performance.now() - began }
}

async function requestCalls(
  counter: CallCounter,
  request: (number: number) => Promise<unknown>,
): Promise<Stretch[]> {
  const stretches: Stretch[] = []
  for (let n = 0; n <= REQUESTS; n++) {
    const stretch = await stretchOf(counter, async () => {
      await request(n)
      await delay(AFTER_MS)
    })
    // The first one fills what later ones find.
    if (n > 0) stretches.push(stretch)
  }
  return stretches
}

/** Functions that every request called more often than the service does by itself in the same time. */
function journeyOf(name: string, idle: Stretch, requests: readonly Stretch[]): Journey {
  const files = new Map<string, string[]>()
  for (const one of requests[0]?.calls.keys() ?? []) {
    const byItself = (idle.calls.get(one) ?? 0) / idle.ms
    const isCalled = requests.every(({ calls, ms }) => (calls.get(one) ?? 0) > byItself * ms * MORE_OFTEN)
    if (isCalled) files.set(fileOf(one), [...(files.get(fileOf(one)) ?? []), functionOf(one)])
  }
  return { name, files: new Map([...files].toSorted(([a], [b]) => (a < b ? -1 : 1))) }
}

/** Quiet, on a free port, its data in a folder. */
const start = (environment: NodeJS.ProcessEnv, folder: string): Promise<RunningService> =>
  startService(
    readSettings(['--port', '0', '--data-dir', folder, '--console', 'off'], {
      LOG_LEVEL: 'error',
      FRESH: 'true',
      ...environment,
    }),
    process.stdout,
  )

const text = async (service: RunningService, path: string): Promise<string> =>
  (await fetch(`${service.url}${path}`)).text()

async function post(
  service: RunningService,
  path: string,
  token: string,
  body: object,
): Promise<Record<string, unknown>> {
  const answer = await fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(body),
  })
  const answered = await answer.text()
  if (!answer.ok) throw new Error(`${path} answers ${answer.status}: ${answered}`)
  return JSON.parse(answered) as Record<string, unknown>
}

const issueKey = async (service: RunningService): Promise<string> =>
  String((await post(service, '/operator/keys', OPERATOR_TOKEN, { tier: 'pro' }))['key'])

const askOverMcp = (service: RunningService, key: string): Promise<unknown> =>
  post(service, '/mcp', key, {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'get_trade_call', arguments: { coin: 'BTC', timeframe: '1h' } },
  })

/** Without a payment, with one, and until the chain cannot take it back. */
async function payForOne(
  service: RunningService,
  payer: Awaited<ReturnType<TestChain['payer']>>,
): Promise<void> {
  const path = '/x402/get_trade_call'
  const body = JSON.stringify({ coin: 'BTC', timeframe: '1h' })
  const validBefore = BigInt(Math.floor(Date.now() / 1_000) + 600)
  const signed = await signAuthorization(payer, { payTo: PAY_TO, value: PRICE, validBefore })
  const payment = encoded(paymentV2({ ...signed, rail: 'direct' }, signed.signature))
  const ask = (more: Record<string, string>) =>
    fetch(`${service.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...more },
      body,
    })
  await (await ask({})).text()
  const answer = await ask({ 'payment-signature': payment })
  const { _service: about } = (await answer.json()) as { _service?: { payment: { status_url: string } } }
  if (about === undefined) throw new Error(`a payment was answered with ${answer.status}`)
  for (let state = ''; state !== 'final'; ) {
    await delay(300)
    ;({ state } = (await (await fetch(about.payment.status_url)).json()) as { state: string })
  }
}
