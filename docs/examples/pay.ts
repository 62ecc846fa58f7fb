/**
 * Pays for one answer by x402, version 1: asks, has the client sign the first offer, asks again.
 *
 *   PAYER_KEY=0x… node docs/examples/pay.ts get_trade_call '{"coin":"BTC"}'
 *   PAYER_KEY=0x… node docs/examples/pay.ts sign quote.json      prints the value of X-PAYMENT, for curl
 *
 * It needs viem and the client in clients/typescript. SIGNAL_URL: the service, http://127.0.0.1:8402 if not set. MOST_USDC: the most
 * that is signed, 0.05 if not set.
 */

import { readFileSync } from 'node:fs'
import { type Hex, parseUnits } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { type Offer, signPayment } from '../../clients/typescript/src/index.ts'

const { PAYER_KEY, SIGNAL_URL = 'http://127.0.0.1:8402', MOST_USDC = '0.05' } = process.env

interface Quote {
  readonly error: string
  /** As version 1 has them: the amount under another name, and the network of Base. */
  readonly accepts: readonly (Offer & { readonly maxAmountRequired: string })[]
}

const NETWORK_V2 = 'eip155:8453'

/** The value of `X-PAYMENT`: whoever has it can move this amount from the payer to `payTo`, once, and nothing else. */
async function sign({ error, accepts }: Quote, payer: PrivateKeyAccount): Promise<string> {
  const [offer] = accepts
  if (offer === undefined) throw new Error(`nothing is offered: ${error}`)
  const offered = { ...offer, amount: offer.maxAmountRequired, network: NETWORK_V2 }
  const required = { x402Version: 2, resource: null, accepts: [offered] } as const
  const { payload } = await signPayment(required, payer, { most: parseUnits(MOST_USDC, 6) })
  const { scheme, network } = offer
  return Buffer.from(JSON.stringify({ x402Version: 1, scheme, network, payload })).toString('base64')
}

const ask = (tool: string, body: string, payment?: string): Promise<Response> =>
  fetch(`${SIGNAL_URL}/x402/${tool}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(payment !== undefined && { 'x-payment': payment }) },
    body,
  })

const TRIES = 5
const PAUSE_MS = 2_000

/** Sends the same payment again where the answer may still come: it is taken once, however often it is sent. */
async function askUntilAnswered(tool: string, body: string, payment: string): Promise<Response> {
  for (let tries = 1; ; tries++) {
    const answer = await ask(tool, body, payment).catch((error: unknown) => {
      if (tries >= TRIES) throw error
      return undefined
    })
    if (answer !== undefined && (answer.status !== 503 || tries >= TRIES)) return answer
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}

const [what, given = '{}'] = process.argv.slice(2)
if (what === undefined || PAYER_KEY === undefined) {
  process.stderr.write('PAYER_KEY=0x… node docs/examples/pay.ts <tool> <json>, or: sign <quote.json>\n')
  process.exit(2)
}
const payer = privateKeyToAccount(PAYER_KEY as Hex)

async function run(wanted: string): Promise<void> {
  if (wanted === 'sign') {
    process.stdout.write(`${await sign(JSON.parse(readFileSync(given, 'utf8')) as Quote, payer)}\n`)
    return
  }
  const quoted = await ask(wanted, given)
  const payment = quoted.status === 402 ? await sign((await quoted.json()) as Quote, payer) : undefined
  const answer = payment === undefined ? quoted : await askUntilAnswered(wanted, given, payment)
  process.stdout.write(`${await answer.text()}\n`)
  process.exitCode = answer.ok ? 0 : 1
}

await run(what).catch((error: unknown) => {
  const reason = error instanceof Error ? error.message : String(error)
  const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : ''
  process.stderr.write(`error: ${reason}${cause}\nIs the service there? SIGNAL_URL is ${SIGNAL_URL}; start one with npm start -- --demo-chain\n`)
  process.exitCode = 1
})
