import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeEvent } from '../../contracts/events/event-catalogue.ts'
import { openEmbeddedStore } from '../log/embedded/embedded-store.ts'
import {
  anAuthorization,
  encoded,
  nonceNumber,
  payerNumber,
  paymentV1,
  signAuthorization,
} from '../payments/testing/sign-payment.ts'
import { PAY_TO } from './testing/paid-service.fixture.ts'

/** `KILLS=100` kills more often. */
const KILLS = Number(process.env.KILLS ?? 4)
/** New answers after which a process is killed: the others are then on their way. */
const ANSWERS_PER_LIFE = 20
/** Some were answered in an earlier life. */
const AT_ONCE = 150
const PAYMENTS = AT_ONCE + (KILLS - 1) * ANSWERS_PER_LIFE
const PAYERS = Math.ceil(PAYMENTS / 75)

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'paid-crash-'))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

async function startServer(): Promise<{ readonly url: string; kill(): Promise<void> }> {
  const file = join(import.meta.dirname, 'testing/paid-server.ts')
  const child: ChildProcess = spawn(process.execPath, [file, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  if (child.stdout === null) return expect.fail('the server has no output')
  const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return {
    url,
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** Authorizations of several payers, as they are sent: one may not have so many under way. */
async function signedPayments(): Promise<string[]> {
  const validBefore = BigInt(Math.floor(Date.now() / 1_000) + 600)
  return Promise.all(
    Array.from({ length: PAYMENTS }, async (_, index) => {
      const payer = payerNumber(11 + (index % PAYERS))
      const authorization = anAuthorization(payer, {
        payTo: PAY_TO,
        validBefore,
        nonce: nonceNumber(index + 1),
      })
      return encoded(paymentV1(authorization, await signAuthorization(payer, authorization)))
    }),
  )
}

/** The serial number of the answer; undefined where the connection broke. */
async function pay(url: string, payment: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/x402/get_trade_call`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-payment': payment },
      body: '{"coin":"BTC"}',
    })
    const { serial, code } = (await response.json()) as { serial?: string; code?: string }
    return serial ?? expect.fail(`${response.status} ${code}`)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

test(
  `through ${KILLS} kills, every payment has one claim, and whoever was answered has that answer again`,
  async () => {
    const payments = await signedPayments()
    const answers = new Map<string, string>()
    for (let life = 0; life < KILLS; life++) {
      const server = await startServer()
      let left = ANSWERS_PER_LIFE
      const enough = Promise.withResolvers<void>()
      const sending = payments
        .slice(life * ANSWERS_PER_LIFE)
        .slice(0, AT_ONCE)
        .map(async (payment) => {
          const serial = await pay(server.url, payment)
          if (serial === undefined) return
          expect(serial).toBe(answers.get(payment) ?? serial)
          // Those that were answered in an earlier life are not what this one is killed over.
          if (!answers.has(payment) && --left === 0) enough.resolve()
          answers.set(payment, serial)
        })
      await Promise.race([enough.promise, Promise.all(sending)])
      await server.kill()
      await Promise.all(sending)
    }
    expect(answers.size).toBeGreaterThanOrEqual(KILLS * ANSWERS_PER_LIFE)

    const last = await startServer()
    for (const payment of payments) {
      const serial = await pay(last.url, payment)
      expect(serial).toBe(answers.get(payment) ?? serial)
      answers.set(payment, serial ?? '')
    }
    await last.kill()

    const store = await openEmbeddedStore({ directory, now: Date.now })
    const claimed = new Map<string, string>()
    for await (const recorded of store.readAll({ filter: { types: ['PaymentClaimed'] } })) {
      const event = decodeEvent(recorded)
      if (event.type !== 'PaymentClaimed') continue
      expect(claimed.has(event.data.nonce)).toBe(false)
      claimed.set(event.data.nonce, (JSON.parse(event.data.answer) as { serial: string }).serial)
    }
    await store.close()
    expect(claimed.size).toBe(PAYMENTS)
    expect([...claimed.values()].toSorted()).toEqual([...answers.values()].toSorted())
  },
  KILLS * 25_000,
)
