import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createEgressGuard } from '../sending/egress-guard.ts'
import { createGuardedSender } from '../sending/guarded-sender.ts'
import type { Sender, SendOutcome } from '../sending/sender.ts'
import { createSign } from '../sending/sign.ts'
import { createSecret } from '../subscriptions/subscription-secrets.ts'
import { verifyWebhook } from './verify-webhook.fixture.ts'

const EXAMPLES = join(import.meta.dirname, '../../../docs/examples')
const SECRET = createSecret(randomBytes)
const sign = createSign({ userAgent: 'signal-service/test' })

let sender: Sender
beforeEach(() => {
  const guard = createEgressGuard({ allowPrivate: true, ownHosts: [] })
  sender = createGuardedSender({ guard, now: Date.now })
})
afterEach(() => sender.close())

interface Sent {
  readonly sequence: number | undefined
  readonly isTest?: boolean
  readonly deliveryId?: string
  readonly secrets?: readonly string[]
  readonly at?: number
  /** Changes the bytes after they were signed. */
  readonly forge?: (body: string) => string
}

/** Sends a delivery as the service does. */
function deliver(port: number, { sequence, ...sent }: Sent): Promise<SendOutcome> {
  const {
    isTest,
    deliveryId = randomUUID(),
    secrets = [SECRET],
    at = Date.now(),
    forge = (text) => text,
  } = sent
  const text = JSON.stringify({
    event: 'trade_call',
    delivery_id: deliveryId,
    created_at: new Date(at).toISOString(),
    sequence,
    test: isTest,
    data: { type: 'trade_call', coin: 'BTC', call: 'BUY', note: 'ü €' },
  })
  const body = Buffer.from(text)
  const headers = sign(secrets, { event: 'trade_call', deliveryId, body, at, sequence, attempt: 1 })
  return sender.send({ url: `http://127.0.0.1:${port}/hook`, headers, body: Buffer.from(forge(text)) })
}

const hasPython = spawnSync('python3', ['--version']).status === 0
const pythonReason = hasPython ? '' : ' (skipped: python3 not on PATH)'
const RECEIVERS = [
  { language: 'TypeScript', command: process.execPath, file: 'receiver.ts', isThere: true },
  { language: `Python${pythonReason}`, command: 'python3', file: 'receiver.py', isThere: hasPython },
]

/** The lines that a program writes, one by one. */
function linesOf(input: Readable): () => Promise<string> {
  const lines = createInterface({ input })[Symbol.asyncIterator]()
  return async () => String((await lines.next()).value)
}

describe.each(RECEIVERS)('the receiver in $language', ({ command, file, isThere }) => {
  let child: ChildProcess
  let port: number
  let nextLine: () => Promise<string>
  let nextComplaint: () => Promise<string>

  beforeEach(async () => {
    if (!isThere) return
    child = spawn(command, [join(EXAMPLES, file)], {
      env: { PATH: process.env.PATH, WEBHOOK_SECRET: SECRET, PORT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const { stdout, stderr } = child
    if (stdout === null || stderr === null) throw new Error('the receiver has no output')
    nextLine = linesOf(stdout)
    nextComplaint = linesOf(stderr)
    port = Number((await nextLine()).replace('listening on ', ''))
  })
  afterEach(async () => {
    if (!isThere) return
    child.kill()
    await once(child, 'close')
  })

  test.skipIf(!isThere)('takes a delivery once, however often it is sent', async () => {
    const deliveryId = randomUUID()
    const statuses: (number | undefined)[] = []
    for (const sent of [{ deliveryId }, { deliveryId }, {}]) {
      statuses.push((await deliver(port, { sequence: statuses.length === 2 ? 2 : 1, ...sent })).status)
    }
    expect(statuses).toEqual([204, 204, 204])
    expect(await nextLine()).toMatch(/^1 trade_call \{.*"BTC"/)
    expect(await nextLine()).toMatch(/^2 trade_call /)
  })

  test.skipIf(!isThere)('refuses what is forged, late, or signed with another secret', async () => {
    const refused: readonly (readonly [Sent, RegExp])[] = [
      [{ sequence: 1, forge: (body) => body.replace('BUY', 'SELL') }, /^refused: .*the signature/],
      [{ sequence: 1, at: Date.now() - 400_000 }, /^refused: .*it was sent 4\d\d s away/],
      [{ sequence: 1, at: Date.now() + 400_000 }, /^refused: .*it was sent \d+ s away/],
      [{ sequence: 1, secrets: [createSecret(randomBytes)] }, /^refused: .*the signature/],
    ]
    for (const [sent, why] of refused) {
      expect((await deliver(port, sent)).status).toBe(401)
      expect(await nextComplaint()).toMatch(why)
    }
    expect((await deliver(port, { sequence: 9 })).status).toBe(204)
    expect(await nextLine()).toMatch(/^9 trade_call /)
  })

  test.skipIf(!isThere)(
    'takes deliveries all through a rotation, with the old secret or the new one',
    async () => {
      const other = createSecret(randomBytes)
      for (const secrets of [
        [SECRET],
        [other, SECRET],
        [SECRET, other],
        [createSecret(randomBytes), SECRET, other],
      ]) {
        expect((await deliver(port, { sequence: 1, secrets })).status).toBe(204)
      }
    },
  )

  test.skipIf(!isThere)('does nothing with a test but to say that it came', async () => {
    expect((await deliver(port, { sequence: undefined, isTest: true })).status).toBe(204)
    expect(await nextLine()).toBe('test trade_call')
  })

  test.skipIf(!isThere)('tells of holes', async () => {
    // It answers first and handles afterwards, so one is handled before the next is sent.
    for (const sequence of [4, 5]) {
      await deliver(port, { sequence })
      await nextLine()
    }
    await deliver(port, { sequence: 9 })
    expect(await nextLine()).toBe('hole: 6 to 8')
  })
})

describe('a receiver with a library', () => {
  let server: Server
  let port: number
  let received: { readonly headers: IncomingHttpHeaders; readonly body: Buffer }[]

  beforeEach(async () => {
    received = []
    server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        received.push({ headers: request.headers, body: Buffer.concat(chunks) })
        response.end()
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  })
  afterEach(async () => {
    server.close()
    await once(server, 'close')
  })

  test('verifies what came over the wire: that of Standard Webhooks, and ours', async () => {
    const older = createSecret(randomBytes)
    expect((await deliver(port, { sequence: 1, secrets: [SECRET, older] })).status).toBe(200)
    const [{ headers, body } = expect.fail('nothing was received')] = received
    const given = headers as Record<string, string>
    for (const secret of [SECRET, older]) {
      expect(new Webhook(secret).verify(body, given)).toMatchObject({ event: 'trade_call', sequence: 1 })
    }
    expect(verifyWebhook({ secret: SECRET, headers, body, now: Date.now() })).toMatchObject({ ok: true })
    expect(verifyWebhook({ secret: [older, SECRET], headers, body, now: Date.now() }).ok).toBe(true)
    expect(verifyWebhook({ secret: older, headers, body, now: Date.now() }).ok).toBe(true)
    const stranger = createSecret(randomBytes)
    expect(verifyWebhook({ secret: stranger, headers, body, now: Date.now() }).ok).toBe(false)
  })
})
