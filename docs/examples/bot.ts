// A bot that asks for a trade call at every closed bar and prints what it says. Node.js 24 is all it needs:
//   SIGNAL_API_KEY=sk_live_… node bot.ts BTC 1h          one line for every bar, until it is stopped
//   SIGNAL_API_KEY=sk_live_… node bot.ts BTC 1h --once   one line
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

const SERVICE_URL = process.env.SIGNAL_URL ?? 'http://127.0.0.1:8402'
const API_KEY = process.env.SIGNAL_API_KEY
const TRIES = 5
// Somebody waits for one line; a bot that runs by itself can be more patient.
const TRIES_ONCE = 3
const TIMEOUT_MS = 30_000

interface TradeCall {
  readonly call: 'BUY' | 'SELL' | 'HOLD'
  readonly confidence: number
  readonly regime: string
  readonly price: number
  readonly bar_close: string
  readonly verify_url: string
  readonly _service: {
    readonly auth: { readonly outcome: string; readonly tier: string }
    readonly quota: { readonly remaining: number; readonly resets_at: string } | null
  }
}

/** A refusal, with the code to decide by and what to do about it. */
class Refusal extends Error {
  readonly code: string
  readonly nextStep: string | undefined
  constructor(code: string, message: string, nextStep?: string) {
    super(`${code}: ${message}`)
    this.code = code
    this.nextStep = nextStep
  }
}

/** Asks a tool. Sent again after a failure that passes, with the same key, it is charged once. */
async function askTool(name: string, args: Record<string, unknown>, tries: number): Promise<TradeCall> {
  const idempotencyKey = randomUUID()
  for (let attempt = 1; ; attempt++) {
    try {
      return await askOnce(name, args, idempotencyKey)
    } catch (error) {
      const waitMs = error instanceof Passing ? error.waitMs : 500 * 2 ** attempt
      const isLasting = error instanceof Refusal && !(error instanceof Passing)
      if (isLasting) throw error
      const what =
        error instanceof Refusal ? error.message : `no answer from ${SERVICE_URL}: ${reasonOf(error)}`
      if (attempt === tries) throw new Refusal('given_up', what)
      tell(`${what}; trying again in ${waitMs / 1_000} s`)
      await sleep(waitMs)
    }
  }
}

/** What `fetch` fails with says why in its cause. */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: { message?: string; code?: string } }
  return cause?.message || cause?.code || String(error)
}

/** A refusal that a later try may not meet. */
class Passing extends Refusal {
  readonly waitMs: number
  constructor(code: string, message: string, waitMs: number) {
    super(code, message)
    this.waitMs = waitMs
  }
}

async function askOnce(name: string, args: object, idempotencyKey: string): Promise<TradeCall> {
  const response = await fetch(`${SERVICE_URL}/mcp`, {
    method: 'POST',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
      'idempotency-key': idempotencyKey,
      ...(API_KEY === undefined ? {} : { authorization: `Bearer ${API_KEY}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  })
  const waitMs = Number(response.headers.get('retry-after') ?? 2) * 1_000
  const text = await response.text()
  if (response.status === 429 || response.status >= 500)
    throw new Passing(`http_${response.status}`, text, waitMs)
  const { error, result, ...other } = JSON.parse(text)
  // First `error`, then `result.isError`: that is the order in which the protocol tells.
  if (error !== undefined) {
    const { code, message, data } = error
    throw data?.retryable === true
      ? new Passing(String(code), message, waitMs)
      : new Refusal(String(code), message)
  }
  if (result === undefined) throw new Refusal(other.code ?? 'no_result', other.message ?? text)
  if (result.isError === true) {
    const {
      code = 'refused',
      message = result.content?.[0]?.text,
      next_step: nextStep,
    } = result.structuredContent ?? {}
    const isPassing = [
      'engine_unavailable',
      'series_loading',
      'stale_market_data',
      'venue_unavailable',
      'store_unavailable',
    ].includes(code)
    throw isPassing ? new Passing(code, message, waitMs) : new Refusal(code, message, nextStep)
  }
  return result.structuredContent
}

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
try {
  for (;;) {
    const answer = await askTool(
      'get_trade_call',
      { coin, timeframe, include_factors: false },
      isOnce ? TRIES_ONCE : TRIES,
    )
    const {
      _service: { auth, quota },
    } = answer
    if (API_KEY !== undefined && auth.outcome !== 'OK') tell(`the key was not applied: ${auth.outcome}`)
    const left = quota === null ? '' : `, ${quota.remaining} calls left`
    const said = `${answer.call} ${answer.confidence} % ${answer.regime} at ${answer.price}`
    process.stdout.write(`${answer.bar_close} ${coin} ${timeframe} ${said}${left}\n`)
    // This is where a bot would act. The numbers are information, not advice: decide what you risk yourself.
    if (isOnce) break
    await sleep(untilNextBar(timeframe))
  }
} catch (error) {
  tell(error instanceof Refusal ? `${error.message} ${error.nextStep ?? ''}` : String(error))
  process.exitCode = 1
}
