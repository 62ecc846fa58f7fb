import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import fastify, { type FastifyInstance } from 'fastify'
import { recoverTypedDataAddress } from 'viem'
import { BASE } from '../contracts/domain/chain.ts'
import type { JsonObject } from '../contracts/infra/json.ts'
import { createServer } from '../services/composition/server.ts'
import { NO_PAYMENTS } from '../services/http/testing/no-payments.ts'
import { serverOptions } from '../services/http/testing/server-options.fixture.ts'
import { startProjector } from '../services/log/projector/projector.ts'
import { openRowTables } from '../services/log/projector/row-tables.ts'
import { sampleAnswer } from '../services/mcp/testing/sample-answers.fixture.ts'
import { createPaymentIndex, createPayments, openRecovery } from '../services/payments/index.ts'
import { payments as paymentsProjection } from '../services/payments/payments-projection.ts'
import { RICH_CHAIN } from '../services/payments/testing/rich-chain.ts'
import { AUTHORIZATION_TYPES } from '../services/payments/verification/recover-signer.ts'
import { sleep } from '../services/runtime/async/sleep.ts'
import { createRandomPool } from '../services/runtime/ids/random-pool.ts'
import { uuidV7 } from '../services/runtime/ids/uuid.ts'
import { createPaidCalls } from '../services/tool-calls/index.ts'
import { answersLike } from './support/counted-calls.ts'
import { loadCandidate } from './support/http-load.ts'
import { type Candidate, measure, print, report } from './support/measure.ts'
import {
  paymentHeader,
  type SignedTransfer,
  signTransfers,
  USDC_SIGNING_DOMAIN,
  writeHeaders,
} from './support/payment-requests.ts'
import type { PostEachArguments } from './support/post-each.ts'
import { openScratch } from './support/scratch.ts'

/**
 * Cost of an offer and of a paid answer: over HTTP, beside a bare POST of the same answer and beside the checking of a
 * signature by viem alone. Every paid call has an authorization of its own, is checked, and is answered once its
 * claim is durable; the node that is asked is in this process and answers at once, and nothing is settled.
 *
 * node bench/payments.bench.ts       BENCH_ROUNDS=3 BENCH_SECONDS=1 BENCH_CALLS=2000
 *
 * Budget: a paid call at least 2 × viem.
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 1)
const CALLS = Number(process.env.BENCH_CALLS ?? 2_000)
const CONNECTIONS = 64
const PAYERS = 200
const VIEM_CHECKS = 200
const PAY_TO = `0x${'22'.repeat(20)}` as const
const PRICE = 20_000n
const BODY = '{"coin":"BTC","timeframe":"1h"}'
const JSON_TYPE = { 'content-type': 'application/json' }

const scratch = await openScratch('payments')
const { directory, store } = scratch
const tables = openRowTables(join(directory, 'rows.sqlite'), 'bench')
const projector = startProjector({ store, tables, projections: [paymentsProjection], sleep })
await projector.caughtUp()
const draw = createRandomPool(randomBytes)
const newId = (): string => uuidV7(Date.now(), draw(10))
const CAP = 10n ** 15n
const payments = createPayments({
  on: BASE,
  proofKey: Buffer.alloc(32, 9),
  store,
  index: createPaymentIndex(projector),
  chain: RICH_CHAIN,
  payTo: PAY_TO,
  offersGateway: true,
  taking: ['direct'],
  caps: { payer: CAP, total: CAP },
  recovery: await openRecovery({
    report: (event, details) => print(`${event}: ${JSON.stringify(details)}`),
  }),
  newId,
  now: Date.now,
  elapsed: () => performance.now(),
  sleep,
})
const { _service, ...answer }: JsonObject = sampleAnswer('get_trade_call')
const address = { url: '' }
const nobody = async (): Promise<never> => Promise.reject(new Error('not in this benchmark'))
const paid = createPaidCalls({
  calls: { call: nobody },
  payments,
  identify: async () => ({ outcome: 'ABSENT' }),
  answer: answersLike(answer),
  plans: { requireRoom: nobody, started: nobody },
  market: 'simulated',
  version: '0.0.0',
  publicUrl: () => address.url,
})
const app = await createServer(
  serverOptions({ newId, payments: { ...NO_PAYMENTS, paid, showPayment: (id) => payments.show(id) } }),
)
const url = await listen(app)
address.url = url
const offered = await fetch(`${url}/x402/get_trade_call`)
const quote = (await offered.json()) as JsonObject
const quoteHeader = offered.headers.get('payment-required') ?? ''
const bare = fastify()
bare.post('/offer', async (_, reply) => {
  reply.header('payment-required', quoteHeader)
  return quote
})
bare.post('/answer', async () => ({ ...answer, _service }))
const bareUrl = await listen(bare)

const BARE = 'bare Fastify POST of the same answer'
const OFFER = 'offer, without a payment'

const load = { headers: JSON_TYPE, body: BODY, connections: CONNECTIONS, seconds: SECONDS }
const loaded = (name: string, target: string, isRefused: boolean): Candidate =>
  loadCandidate(name, { ...load, url: target, isRefused })
const offers = [loaded(BARE, `${bareUrl}/offer`, false), loaded(OFFER, `${url}/x402/get_trade_call`, true)]
report(`offers, ${CONNECTIONS} connections`, 'requests/s', await measure(offers, ROUNDS), BARE)

const run = promisify(execFile)
const client = join(import.meta.dirname, 'support/post-each.ts')
const headersFile = join(directory, 'headers')

/** Posts so many requests from a process of its own. */
async function postEach(target: string, headers: readonly string[]) {
  writeHeaders(headersFile, headers)
  const given: PostEachArguments = { url: target, body: BODY, headersFile, connections: CONNECTIONS }
  const { stdout } = await run(process.execPath, [client, JSON.stringify(given)])
  return JSON.parse(stdout) as { units: number; milliseconds: number }
}

/** One at a time: it is a processor's work, which the event loop waits for. */
async function checkByViem(transfers: readonly SignedTransfer[]) {
  const start = performance.now()
  for (const { message, signature } of transfers) {
    const signer = await recoverTypedDataAddress({
      domain: USDC_SIGNING_DOMAIN,
      types: AUTHORIZATION_TYPES,
      primaryType: 'TransferWithAuthorization',
      message,
      signature,
    })
    if (signer !== message.from) throw new Error('viem takes somebody else for the signer')
  }
  return { units: transfers.length, milliseconds: performance.now() - start }
}

const sign = (count: number): SignedTransfer[] =>
  signTransfers(count, { payers: PAYERS, payTo: PAY_TO, value: PRICE })
/** Signed beforehand: who pays signs on another machine, and the garbage of it is not the service's. */
const signed = Array.from({ length: ROUNDS + 1 }, () => sign(CALLS).map(paymentHeader))
const PAID = 'paid call, claim durable'
const VIEM = 'viem, checking signatures alone'
const calls = await measure(
  [
    { name: BARE, round: () => postEach(`${bareUrl}/answer`, Array(CALLS * 4).fill('')) },
    { name: PAID, round: () => postEach(`${url}/x402/get_trade_call`, signed.pop() ?? []) },
    { name: VIEM, round: () => checkByViem(sign(VIEM_CHECKS)) },
  ],
  ROUNDS,
)
report(`paid calls, ${CONNECTIONS} connections`, 'requests/s', calls, BARE)
report('the same, beside viem', 'requests/s', calls, VIEM, { [PAID]: 2 })

await Promise.all([app.close(), bare.close()])
await payments.close()
await projector.close()
await scratch.close()

async function listen(server: FastifyInstance): Promise<string> {
  await server.listen({ host: '127.0.0.1', port: 0 })
  return `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`
}
