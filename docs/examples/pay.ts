/**
 * Pays for one answer by x402, version 2: asks, has the client sign the first offer, asks again.
 *
 *   PAYER_KEY=0x… node docs/examples/pay.ts get_trade_call '{"coin":"BTC"}'
 *   PAYER_KEY=0x… node docs/examples/pay.ts sign offer.txt      prints the value of PAYMENT-SIGNATURE, for curl
 *
 * offer.txt: the headers of a 402 answer, as `curl -D offer.txt` writes them. It needs viem and the client in clients/typescript.
 * SIGNAL_URL: the service, http://127.0.0.1:8402 if not set. MOST_USDC: the most that is signed, 0.05 if not set.
 */

import { readFileSync } from 'node:fs'
import { type Hex, parseUnits } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { type PaymentRequired, type SignedPayment, signPayment } from '../../clients/typescript/src/index.ts'

const { PAYER_KEY, SIGNAL_URL = 'http://127.0.0.1:8402', MOST_USDC = '0.05' } = process.env

/** The holder of the payment can move this amount from the payer to `payTo`, once, and nothing else. */
function sign(header: string | null | undefined, payer: PrivateKeyAccount): Promise<SignedPayment> {
  if (header === null || header === undefined) throw new Error('no PAYMENT-REQUIRED: nothing is offered')
  const required = JSON.parse(Buffer.from(header, 'base64').toString()) as PaymentRequired
  return signPayment(required, payer, { most: parseUnits(MOST_USDC, 6) })
}

const encoded = (payment: SignedPayment): string => Buffer.from(JSON.stringify(payment)).toString('base64')

const ask = (tool: string, body: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${SIGNAL_URL}/x402/${tool}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })

const TRIES = 5
const PAUSE_MS = 2_000

interface Refused {
  readonly details?: { readonly payment_secret?: string }
}

/** Sends the same payment again where the answer may still come: it is taken once, however often it is sent. */
async function askUntilAnswered(tool: string, body: string, payment: SignedPayment): Promise<Response> {
  const headers: Record<string, string> = { 'payment-signature': encoded(payment) }
  for (let tries = 1; ; tries++) {
    const answer = await ask(tool, body, headers).catch((error: unknown) => {
      if (tries >= TRIES) throw error
      return undefined
    })
    if (answer !== undefined && (answer.status !== 503 || tries >= TRIES)) return answer
    // Once it is on the chain, where everybody reads it, the answer takes this secret.
    const { details } = answer === undefined ? {} : ((await answer.json()) as Refused)
    if (details?.payment_secret !== undefined) headers['payment-secret'] = details.payment_secret
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}

const [what, given = '{}'] = process.argv.slice(2)
if (what === undefined || PAYER_KEY === undefined) {
  process.stderr.write('PAYER_KEY=0x… node docs/examples/pay.ts <tool> <json>, or: sign <offer.txt>\n')
  process.exit(2)
}
const payer = privateKeyToAccount(PAYER_KEY as Hex)

async function run(wanted: string): Promise<void> {
  if (wanted === 'sign') {
    const [, header] = /^payment-required: *(\S+)/im.exec(readFileSync(given, 'utf8')) ?? []
    process.stdout.write(`${encoded(await sign(header, payer))}\n`)
    return
  }
  const quoted = await ask(wanted, given)
  const answer =
    quoted.status === 402
      ? await askUntilAnswered(wanted, given, await sign(quoted.headers.get('payment-required'), payer))
      : quoted
  process.stdout.write(`${await answer.text()}\n`)
  process.exitCode = answer.ok ? 0 : 1
}

await run(what).catch((error: unknown) => {
  const reason = error instanceof Error ? error.message : String(error)
  const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : ''
  process.stderr.write(`error: ${reason}${cause}\nIs the service there? SIGNAL_URL is ${SIGNAL_URL}; start one with npm run demo\n`)
  process.exitCode = 1
})
