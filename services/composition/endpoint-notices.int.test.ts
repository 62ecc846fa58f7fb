import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSignalClient, verifyWebhook, type Webhook } from '../../clients/typescript/src/index.ts'
import { type OwnService, startOwnService } from './own-service.fixture.ts'

const EMAIL = 'ada@example.com'

interface Received {
  readonly at: number
  readonly text: string
}

const mails: Received[] = []
let smtp: SMTPServer
let service: OwnService
let key: string
const servers: Server[] = []
beforeAll(async () => {
  smtp = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    onData(stream, _session, done) {
      let text = ''
      stream.on('data', (part: Buffer) => (text += part.toString()))
      stream.on('end', () => {
        mails.push({ at: Date.now(), text })
        done()
      })
    },
  })
  await new Promise<void>((done) => smtp.listen(0, '127.0.0.1', () => done()))
  service = await startOwnService({
    COINS: 'BTC,ETH,SOL',
    TIMEFRAMES: '1m',
    MARKET_SPEED: '60',
    WEBHOOKS_ALLOW_PRIVATE: 'true',
    SMTP_URL: `smtp://127.0.0.1:${(smtp.server.address() as AddressInfo).port}`,
  })
  const signals = createSignalClient({ url: service.url })
  await signals.signIn({ email: EMAIL })
  const [, code = ''] = /^Subject: (\S+) is your sign-in code/m.exec(mails[0]?.text ?? '') ?? []
  ;({ key } = (await signals.confirmSignIn({ email: EMAIL, code })) as { key: string })
}, 60_000)
afterAll(async () => {
  await service?.stop()
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
  await new Promise<void>((done) => smtp.close(() => done()))
})

async function listen(answer: (request: IncomingMessage, body: Buffer, response: ServerResponse) => void) {
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => answer(request, Buffer.concat(parts), response))
  }).listen(0, '127.0.0.1')
  servers.push(server)
  await new Promise((done) => server.once('listening', done))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
}

test('a change of an endpoint is told once, within a minute, by mail and to the other endpoints of its owner', async () => {
  const signals = createSignalClient({ url: service.url, apiKey: key })
  let isDown = true
  const failingUrl = await listen((_request, _body, response) => response.writeHead(isDown ? 500 : 204).end())
  const told: (Webhook & { readonly at: number })[] = []
  let secret = ''
  const otherUrl = await listen((request, body, response) => {
    verifyWebhook({ secret, headers: request.headers, body }).then(
      (webhook) => {
        if (webhook.event.startsWith('endpoint.')) told.push({ ...webhook, at: Date.now() })
        return response.writeHead(204).end()
      },
      () => response.writeHead(401).end(),
    )
  })
  const { id } = await signals.createWebhook({ url: failingUrl, events: ['regime_shift', 'trade_call'] })
  ;({ secret } = await signals.createWebhook({ url: otherUrl, events: ['trade_call'], min_strength: 100 }))
  const noticed = () => mails.filter(({ text }) => /^Subject: Your webhook/m.test(text))
  /** Waits for the notice of a change, by both ways, and says how late the later one was. */
  const lateness = async (count: number): Promise<number> => {
    while (told.length < count || noticed().length < count) await setTimeout(200)
    const [hook, mail] = [told[count - 1], noticed()[count - 1]]
    const { at, data } = hook ?? expect.fail()
    return Math.max(at, mail?.at ?? 0) - Date.parse((data as { since: string }).since)
  }
  expect(await lateness(1)).toBeLessThan(60_000)
  isDown = false
  expect(await lateness(2)).toBeLessThan(60_000)
  // Time in which a second copy would have come.
  await setTimeout(15_000)
  expect(
    told.map(({ event, data }) => [event, (data as { subscription_id: string }).subscription_id]),
  ).toEqual([
    ['endpoint.failing', id],
    ['endpoint.recovered', id],
  ])
  const texts = noticed().map(({ text }) => text)
  expect(texts).toHaveLength(2)
  expect(texts[0]).toMatch(/^Subject: Your webhook at 127\.0\.0\.1:\d+ is failing/m)
  expect(texts[1]).toMatch(/^Subject: Your webhook at 127\.0\.0\.1:\d+ works again/m)
  expect(new Set(texts.map((text) => /^Message-ID: (<[0-9a-f]{32}@.+>)\r$/im.exec(text)?.[1])).size).toBe(2)
  for (const text of texts) expect(text).toMatch(/^To: ada@example\.com\r$/m)
}, 240_000)
