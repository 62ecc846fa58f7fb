/**
 * Pays for one answer by x402, version 1, with nothing but viem: asks, signs the first offer, asks again. It shows what
 * the clients do; for a program of your own take one of them.
 *
 *   PAYER_KEY=0x… node docs/examples/pay.ts get_trade_call '{"coin":"BTC"}'
 *   PAYER_KEY=0x… node docs/examples/pay.ts sign quote.json      prints the value of X-PAYMENT, for curl
 *
 * SIGNAL_URL: the service, http://127.0.0.1:8402 if not set. MOST_USDC: the most that is signed, 0.05 if not set.
 */

import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Hex, parseUnits } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'

const { PAYER_KEY, SIGNAL_URL = 'http://127.0.0.1:8402', MOST_USDC = '0.05' } = process.env

interface Offer {
  readonly scheme: string
  readonly network: string
  /** Millionths of a USDC, as text. */
  readonly maxAmountRequired: string
  readonly asset: Hex
  readonly payTo: Hex
  readonly maxTimeoutSeconds: number
  readonly extra: { readonly name: string; readonly version: string }
}

interface Quote {
  readonly error: string
  readonly accepts: readonly Offer[]
}

const BASE = 8453
const TRANSFER = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** The value of `X-PAYMENT`: whoever has it can move this amount from the payer to `payTo`, once, and nothing else. */
async function sign({ error, accepts }: Quote, payer: PrivateKeyAccount): Promise<string> {
  const [offer] = accepts
  if (offer === undefined) throw new Error(`nothing is offered: ${error}`)
  const value = BigInt(offer.maxAmountRequired)
  if (value > parseUnits(MOST_USDC, 6)) throw new Error(`${value} millionths is more than ${MOST_USDC} USDC`)
  const now = Math.floor(Date.now() / 1_000)
  const nonce: Hex = `0x${randomBytes(32).toString('hex')}`
  // A little in the past: the clock of the chain is that of its newest block.
  const [validAfter, validBefore] = [BigInt(now - 600), BigInt(now + offer.maxTimeoutSeconds)]
  const signature = await payer.signTypedData({
    domain: { ...offer.extra, chainId: BASE, verifyingContract: offer.asset },
    types: TRANSFER,
    primaryType: 'TransferWithAuthorization',
    message: { from: payer.address, to: offer.payTo, value, validAfter, validBefore, nonce },
  })
  const authorization = {
    from: payer.address,
    to: offer.payTo,
    value: String(value),
    validAfter: String(validAfter),
    validBefore: String(validBefore),
    nonce,
  }
  const { scheme, network } = offer
  const payment = { x402Version: 1, scheme, network, payload: { signature, authorization } }
  return Buffer.from(JSON.stringify(payment)).toString('base64')
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

if (what === 'sign') {
  process.stdout.write(`${await sign(JSON.parse(readFileSync(given, 'utf8')) as Quote, payer)}\n`)
} else {
  const quoted = await ask(what, given)
  const payment = quoted.status === 402 ? await sign((await quoted.json()) as Quote, payer) : undefined
  const answer = payment === undefined ? quoted : await askUntilAnswered(what, given, payment)
  process.stdout.write(`${await answer.text()}\n`)
  process.exitCode = answer.ok ? 0 : 1
}
