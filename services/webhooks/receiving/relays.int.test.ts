import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createSign } from '../sending/sign.ts'
import { createSecret } from '../subscriptions/subscription-secrets.ts'

const EXAMPLES = join(import.meta.dirname, '../../../docs/examples')
const SECRET = createSecret(randomBytes)
const sign = createSign({ userAgent: 'signal-service/test' })

/** A chat service that writes down what it is told, and answers as it is set to. */
let chat: Server
let told: { readonly path: string; readonly body: Record<string, unknown> }[]
let answer: { readonly status: number; readonly headers?: Record<string, string> }
let child: ChildProcess | undefined

beforeEach(async () => {
  told = []
  answer = { status: 200 }
  chat = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>
      told.push({ path: String(request.url), body })
      response.writeHead(answer.status, answer.headers).end('{}')
    })
  })
  chat.listen(0, '127.0.0.1')
  await once(chat, 'listening')
})
afterEach(async () => {
  if (child !== undefined) {
    child.kill()
    await once(child, 'close')
  }
  chat.close()
})

const CALL = {
  event: 'trade_call',
  data: {
    exchange: 'SIM',
    timeframe: '1h',
    coin: 'BTC',
    call: 'BUY',
    confidence: 55,
    verify_url: 'https://x.example/verify/1',
  },
}
const row = { coin: 'BTC', call: 'SELL', confidence: 51, verify_url: `https://x.example/${'v'.repeat(60)}` }
const DIGEST = {
  event: 'scan_digest',
  data: { exchange: 'SIM', timeframe: '4h', calls: Array.from({ length: 100 }, () => row) },
}

async function start(file: string): Promise<number> {
  const url = `http://127.0.0.1:${(chat.address() as AddressInfo).port}`
  const env = {
    WEBHOOK_SECRET: SECRET,
    DISCORD_URL: `${url}/api/webhooks/1/key`,
    TELEGRAM_URL: `${url}/bot1:key/sendMessage`,
    CHAT_ID: '@chat',
    PORT: '0',
  }
  child = spawn(process.execPath, [join(EXAMPLES, file)], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(child.stdout ?? expect.fail('no output'), 'data')) as [Buffer]
  return (JSON.parse(line.toString()) as AddressInfo).port
}

function deliver(
  port: number,
  content: object,
  { secret = SECRET, at = Date.now() } = {},
): Promise<Response> {
  const body = Buffer.from(JSON.stringify(content))
  const headers = sign([secret], { event: '', deliveryId: randomUUID(), body, at, sequence: 1, attempt: 1 })
  return fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body })
}

describe.each([
  { file: 'to-discord.ts', path: '/api/webhooks/1/key', field: 'content', most: 2_000 },
  { file: 'to-telegram.ts', path: '/bot1:key/sendMessage', field: 'text', most: 4_096 },
])('$file', ({ file, path, field, most }) => {
  test('posts what is signed, within the length that the chat takes, and answers as the chat did', async () => {
    const port = await start(file)
    expect((await deliver(port, CALL)).status).toBe(204)
    expect((await deliver(port, { ...DIGEST, test: true })).status).toBe(204)
    expect(told.map((one) => one.path)).toEqual([path, path])
    const texts = told.map(({ body }) => String(body[field]))
    expect(texts[0]).toMatch(
      /^trade_call SIM 1h\nBUY BTC: confidence 55 %, <?https:\/\/x\.example\/verify\/1>?$/,
    )
    expect(texts[1]).toMatch(/^A test: scan_digest SIM 4h\nSELL BTC/)
    expect(texts[1]).toHaveLength(most)
    answer = { status: 429, headers: { 'retry-after': '7' } }
    const refused = await deliver(port, CALL)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '7'])
  })

  test('posts nothing that is forged, or old', async () => {
    const port = await start(file)
    expect((await deliver(port, CALL, { secret: createSecret(randomBytes) })).status).toBe(401)
    expect((await deliver(port, CALL, { at: Date.now() - 400_000 })).status).toBe(401)
    expect((await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' })).status).toBe(401)
    expect(told).toEqual([])
  })
})
