import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { requirePaymentChain } from '../contracts/domain/chain.ts'
import { serveReferenceFacilitator } from '../services/payments/testing/chain/reference-facilitator.ts'
import { missingChain, startTestChain } from '../services/payments/testing/chain/test-chain.ts'
import { answerHelp } from '../testing/answer-help.ts'

answerHelp(`Starts the service with a chain, a facilitator and play money on this machine, to try paid calls.

  npm run demo
  npm run demo -- --speed 60 --webhooks-allow-private

Flags are those of npm start. The chain and its keys end with it; Ctrl-C ends all.`)

/** Nobody's chain, and a token that stands nowhere else: what is signed for a trial moves no money. */
const NETWORK = 'eip155:1252830783'
const TOKEN = '0x5D77289c07401197e641F31EC228ac9196219079'
const PLAY_USDC = 100_000_000n
const SERVICE = join(import.meta.dirname, '../services/start.js')

if (missingChain !== undefined)
  throw new Error(`The demo needs anvil, and ${missingChain}: npm ci brings it along.`)
const on = requirePaymentChain(NETWORK, TOKEN)
const [payer, payTo] = [generatePrivateKey(), generatePrivateKey()]
const addressOf = (key: Hex): Hex => privateKeyToAccount(key).address

/** Until the service runs, a signal ends the demo as a failure does; afterwards the service ends first. */
let onSignal: (signal: NodeJS.Signals) => void = () => process.exit(1)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => onSignal(signal))

const chain = await startTestChain({ on, blockTimeS: 2 })
const facilitator = await serveReferenceFacilitator(chain.rpcUrl, await chain.gasWallet(), on)
try {
  await chain.mint(addressOf(payer), PLAY_USDC)
  process.exitCode = await runService()
} finally {
  facilitator.close()
  await chain.stop()
}

/** Resolves with the exit code of the service. A signal is the service's, and ends the rest after it. */
async function runService(): Promise<number> {
  const service = spawn(process.execPath, [SERVICE, ...process.argv.slice(2)], {
    stdio: ['inherit', 'pipe', 'inherit'],
    env: {
      ...withoutPayments(process.env),
      X402_NETWORK: on.network,
      X402_ASSET: on.usdc,
      X402_PAY_TO: addressOf(payTo),
      X402_RPC_URL: chain.rpcUrl,
      X402_FACILITATOR_URL: facilitator.url,
    },
  })
  onSignal = (signal) => void service.kill(signal)
  const ended = once(service, 'exit')
  for await (const line of createInterface({ input: service.stdout })) {
    process.stdout.write(`${line}\n`)
    const [, url] = /(http:\S+)\/readyz /.exec(line) ?? []
    if (url !== undefined) process.stdout.write(payingLines(url))
  }
  const [code] = (await ended) as [number | null]
  return code ?? 1
}

/** The settings of payments are the demo's own. */
function withoutPayments(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('X402_')))
}

function payingLines(url: string): string {
  return `
play money: this account has 100 USDC of it, on a chain of this machine alone
  address ${addressOf(payer)}
  key     ${payer}
pay for a call in a second terminal:
  SIGNAL_URL=${url} PAYER_KEY=${payer} npm run -s node -- docs/examples/pay.ts get_trade_call '{"coin": "BTC"}'

`
}
