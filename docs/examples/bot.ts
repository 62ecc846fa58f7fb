// A bot that asks for a trade call at every closed bar and prints what it says. It needs Node.js 26 and the client in clients/typescript:
//   SIGNAL_API_KEY=sk_live_… node docs/examples/bot.ts BTC 1h          one line for every bar, until it is stopped
//   SIGNAL_API_KEY=sk_live_… node docs/examples/bot.ts BTC 1h --once   one line
import { setTimeout as sleep } from 'node:timers/promises'
import { createSignalClient, SignalRefusal, type Timeframe } from '../../clients/typescript/src/index.ts'

const API_KEY = process.env.SIGNAL_API_KEY

/** Milliseconds until the bar that is open now has closed, and a little for its verdict. */
function untilNextBar(timeframe: string): number {
  const [, count = '1', unit = 'h'] = /^(\d+)([mhd])$/.exec(timeframe) ?? []
  const lengthMs = Number(count) * { m: 60_000, h: 3_600_000, d: 86_400_000 }[unit as 'm' | 'h' | 'd']
  return lengthMs - (Date.now() % lengthMs) + 5_000
}

function tell(text: string): void {
  process.stderr.write(`${text}\n`)
}

const given = process.argv.slice(2)
const isOnce = given.includes('--once')
const [coin, timeframe = '1h', ...others] = given.filter((argument) => argument !== '--once')
if (coin === undefined || others.length > 0 || given.some((one) => one.startsWith('--') && one !== '--once')) {
  tell('usage: bot.ts COIN [TIMEFRAME] [--once]     as in: bot.ts BTC 1h')
  process.exit(2)
}
const signals = createSignalClient({
  url: process.env.SIGNAL_URL ?? 'http://127.0.0.1:8402',
  ...(API_KEY !== undefined && { apiKey: API_KEY }),
  // Somebody waits for one line; a bot that runs by itself can be more patient.
  tries: isOnce ? 3 : 5,
  onRetry: (what, waitMs) => tell(`${what}; trying again in ${waitMs / 1_000} s`),
})
let isFirst = true
try {
  for (;;) {
    // Sent again after a failure that passes, it is charged once: the client sees to that.
    const answer = await signals.getTradeCall({
      coin,
      timeframe: timeframe as Timeframe,
      include_factors: false,
    })
    const {
      _service: { auth, quota },
    } = answer
    // It would go on with the free calls of this address, and end when those do.
    if (API_KEY !== undefined && auth.outcome !== 'OK')
      throw new Error(`the key was not applied: ${auth.outcome}. Check SIGNAL_API_KEY, or leave it out.`)
    if (isFirst && answer.call === 'HOLD' && answer.confidence === 50)
      tell(`no call is made at ${timeframe} for now: ${answer.reasoning}`)
    isFirst = false
    const left = quota === null ? '' : `, ${quota.remaining} calls left`
    const said = `${answer.call} ${answer.confidence} % ${answer.regime} at ${answer.price}`
    process.stdout.write(`${answer.bar_close} ${coin} ${timeframe} ${said}${left}\n`)
    // This is where a bot would act. The numbers are information, not advice: decide what you risk yourself.
    if (isOnce) break
    await sleep(untilNextBar(timeframe))
  }
} catch (error) {
  const nextStep = error instanceof SignalRefusal ? (error.nextStep ?? '') : ''
  tell(`${error instanceof Error ? error.message : String(error)} ${nextStep}`.trimEnd())
  process.exitCode = 1
}
