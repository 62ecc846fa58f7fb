import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseAbiItem } from 'viem'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BASE } from '../../../contracts/domain/chain.ts'
import { type RunningService, startService } from '../../composition/start-service.ts'
import {
  type ServedFacilitator,
  serveReferenceFacilitator,
} from '../../payments/testing/chain/reference-facilitator.ts'
import { signAuthorization } from '../../payments/testing/chain/sign-authorization.ts'
import { missingChain, startTestChain, type TestChain } from '../../payments/testing/chain/test-chain.ts'
import { encoded, PAY_TO, paymentV2 } from '../../payments/testing/sign-payment.ts'
import { readSettings } from '../../runtime/config/read-settings.ts'
import { runSignal } from '../kit/run-signal.fixture.ts'

const PRICE = 20_000n
const BODY = JSON.stringify({ coin: 'BTC', timeframe: '1h' })

let folder: string
let service: RunningService | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'restored-'))
})
afterEach(async () => {
  await service?.stop()
  service = undefined
  rmSync(folder, { recursive: true, force: true })
})

async function start(name: string, environment: NodeJS.ProcessEnv): Promise<RunningService> {
  const flags = [
    '--port',
    '0',
    '--data-dir',
    join(folder, name),
    '--console',
    'off',
    '--webhooks-allow-private',
  ]
  const settings = readSettings(flags, {
    FRESH: 'true',
    LOG_LEVEL: 'error',
    COINS: 'BTC',
    RATE_PER_ADDRESS: 'off',
    ...environment,
  })
  service = await startService(settings, process.stdout)
  return service
}

async function stop(): Promise<void> {
  await service?.stop()
  service = undefined
}

/** Runs a command of the operator. @returns what it said */
async function signal(...args: readonly string[]): Promise<string> {
  const { code, said } = await runSignal(...args)
  expect([code, code === 0 ? '' : said]).toEqual([0, ''])
  return said
}

const backUp = (): Promise<string> =>
  signal('backup', join(folder, 'backup'), '--data-dir', join(folder, 'data'))

/** Restores the backup beside the keys that the operator keeps apart. */
async function restore(): Promise<string> {
  mkdirSync(join(folder, 'restored', 'simulated'), { recursive: true })
  for (const name of ['sealing.key', 'log.keys'])
    cpSync(join(folder, 'data', 'simulated', name), join(folder, 'restored', 'simulated', name))
  return signal('restore', join(folder, 'backup'), '--data-dir', join(folder, 'restored'))
}

test('a key that was revoked after the backup holds again, until all that is older is ended', async () => {
  const statusOf = async (key: string): Promise<number> =>
    (await fetch(`${service?.url}/api/account`, { headers: { authorization: `Bearer ${key}` } })).status
  const make = async (name: string): Promise<string> => {
    const said = await signal('keys', 'create', '--data-dir', join(folder, name))
    return /sk_live_\w+/.exec(said)?.[0] ?? expect.fail(said)
  }
  await start('data', { TIMEFRAMES: '1h' })
  const key = await make('data')
  await backUp()
  await fetch(`${service?.url}/api/keys/current`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${key}` },
  })
  await stop()
  const said = await restore()
  const [command = '', instant = ''] =
    /signal (keys revoke-older --issued-before (\S+) .*)/.exec(said)?.slice(1) ?? []
  await start('restored', { TIMEFRAMES: '1h' })
  expect(await statusOf(key)).toBe(200)
  await delay(10)
  const newer = await make('restored')
  expect(Date.parse(instant)).toBeLessThan(Date.now())
  // It names the folder that the restore was given.
  expect(await signal(...command.split(' '))).toContain('{"keys":1,"programs":0,"next":null}')
  expect([await statusOf(key), await statusOf(newer)]).toEqual([401, 200])
}, 60_000)

describe.skipIf(missingChain !== undefined)(`restore × payments in flight ${missingChain ?? ''}`, () => {
  let chain: TestChain
  let facilitator: ServedFacilitator
  beforeEach(async () => {
    chain = await startTestChain()
    facilitator = await serveReferenceFacilitator(chain.rpcUrl, await chain.gasWallet())
  }, 60_000)
  afterEach(async () => {
    facilitator.close()
    await chain.stop()
  })

  test('money moves once, whatever of a payment the backup holds, and every answer that it holds is there', async () => {
    const settings = {
      TIMEFRAMES: '1h',
      X402_PAY_TO: PAY_TO,
      X402_RPC_URL: chain.rpcUrl,
      X402_FACILITATOR_URL: facilitator.url,
    }
    const payer = await chain.payer(1_000_000n)
    const sign = async (): Promise<string> => {
      const validBefore = BigInt(Math.floor(Date.now() / 1_000) + 600)
      const signed = await signAuthorization(payer, { payTo: PAY_TO, value: PRICE, validBefore })
      return encoded(paymentV2({ ...signed, rail: 'direct' }, signed.signature))
    }
    interface Answer {
      readonly code?: string
      readonly _service?: { readonly payment: { readonly status_url: string; readonly secret: string } }
    }
    const secrets = new Map<string, string>()
    const ask = async (payment: string): Promise<{ readonly status: number; readonly body: Answer }> => {
      // What is on the chain answers to its payer alone.
      const headers = {
        'content-type': 'application/json',
        'payment-signature': payment,
        'payment-secret': secrets.get(payment) ?? '',
      }
      const answer = await fetch(`${service?.url}/x402/get_trade_call`, {
        method: 'POST',
        headers,
        body: BODY,
      })
      return { status: answer.status, body: (await answer.json()) as Answer }
    }
    const answered = async (payment: string): Promise<string> => {
      for (;;) {
        const { status, body } = await ask(payment)
        const { _service: about, ...answer } = body
        if (status === 200 && about !== undefined) {
          secrets.set(payment, about.payment.secret)
          return JSON.stringify(answer)
        }
        if (!['payment_pending', 'payments_unavailable'].includes(body.code ?? ''))
          expect.fail(JSON.stringify(body))
        await delay(100)
      }
    }
    const paidTo = (): Promise<bigint> => chain.balanceOf(PAY_TO)

    await start('data', settings)
    const [before, during, after] = [await sign(), await sign(), await sign()]
    const first = await answered(before)
    while ((await paidTo()) < PRICE) await delay(50)
    // Claimed and answered, and in no block yet, when the backup is taken.
    await chain.setAutomine(false)
    const second = await answered(during)
    await backUp()
    await chain.setAutomine(true)
    await chain.mine()
    // Claimed and settled after the newest backup: the log that is restored knows nothing of it.
    await answered(after)
    while ((await paidTo()) < 3n * PRICE) await delay(50)
    await stop()

    await restore()
    await start('restored', settings)
    expect(await answered(before)).toBe(first)
    expect(await answered(during)).toBe(second)
    expect((await ask(after)).body).toMatchObject({
      code: 'payment_refused',
      details: { reason: 'invalid_transaction_state' },
    })
    const { _service: about } = (await ask(during)).body
    const statusUrl = about?.payment.status_url ?? expect.fail('it is not said where the payment is shown')
    const stateOf = async (): Promise<string> =>
      ((await (await fetch(statusUrl)).json()) as { state: string }).state
    // A block is final once others follow, and here they come with transactions alone.
    await chain.mine(10)
    while (!['settled', 'final'].includes(await stateOf())) await delay(100)
    const used = await chain.node.getLogs({
      address: BASE.usdc,
      event: parseAbiItem('event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)'),
      args: { authorizer: payer.address },
      fromBlock: 0n,
    })
    expect(used).toHaveLength(3)
    expect([await paidTo(), 1_000_000n - (await chain.balanceOf(payer.address))]).toEqual([
      3n * PRICE,
      3n * PRICE,
    ])
  }, 120_000)
})

describe('restore × the cursor of a webhook', () => {
  interface Received {
    readonly headers: IncomingHttpHeaders
    readonly body: { readonly data: { readonly verdict_id?: string; readonly id?: string } }
  }
  let receiver: Server
  const received: Received[] = []
  beforeEach(async () => {
    received.length = 0
    receiver = createServer((request, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => {
        received.push({
          headers: request.headers,
          body: JSON.parse(Buffer.concat(parts).toString()) as Received['body'],
        })
        response.end()
      })
    })
    receiver.listen(0, '127.0.0.1')
    await once(receiver, 'listening')
  })
  afterEach(() => {
    receiver.close()
    receiver.closeAllConnections()
  })

  test('what the log still holds is sent again under its own id, and numbers go on without a hole', async () => {
    const settings = { MARKET_SPEED: '3000', TIMEFRAMES: '1m,1h' }
    const until = async (count: number): Promise<void> => {
      while (new Set(received.map(({ headers }) => headers['x-service-sequence'])).size < count)
        await delay(50)
    }
    await start('data', settings)
    const key = /sk_live_\w+/.exec(
      await signal('keys', 'create', '--tier', 'starter', '--data-dir', join(folder, 'data')),
    )
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
    const created = await fetch(`${service?.url}/api/webhooks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key?.[0]}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url, events: ['trade_call', 'regime_shift'] }),
    })
    expect(created.status).toBe(201)
    await until(3)
    // Deliveries go on while the backup is taken: it holds all signals of before, and perhaps some of meanwhile.
    const held = new Set(received)
    await backUp()
    const newest = Math.max(...received.map(({ headers }) => Number(headers['x-service-sequence'])))
    await until(newest + 3)
    await stop()
    received.splice(0)

    await restore()
    await start('restored', settings)
    await until(4)
    await stop()
    const numberOf = ({ headers }: Received): number => Number(headers['x-service-sequence'])
    const idOf = ({ headers }: Received): string => String(headers['x-service-delivery'])
    // Behind the cursor that the log holds, from there on without a hole.
    const numbers = [...new Set(received.map(numberOf))].toSorted((a, b) => a - b)
    expect(numbers[0]).toBeGreaterThan(0)
    expect(numbers[0]).toBeLessThanOrEqual(newest + 1)
    expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index))
    // One id is one number, and a number of before the backup has the id that it had.
    const ids = new Map([...held].map((one) => [numberOf(one), idOf(one)]))
    for (const one of received) {
      const known = ids.get(numberOf(one))
      if (known !== undefined) expect(idOf(one)).toBe(known)
    }
    expect(new Set(received.map((one) => `${numberOf(one)} ${idOf(one)}`)).size).toBe(numbers.length)
  }, 120_000)
})
