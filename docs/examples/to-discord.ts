// Tells a channel of Discord what a webhook is sent: checks the signature, posts one message, and answers for it.
// It needs Node.js 26 and nothing else:
//   WEBHOOK_SECRET=whsec_… DISCORD_URL=https://discord.com/api/webhooks/… PORT=9000 node docs/examples/to-discord.ts
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

const { WEBHOOK_SECRET = '', DISCORD_URL = '', PORT = '9000' } = process.env
if (WEBHOOK_SECRET === '' || DISCORD_URL === '') throw new Error('WEBHOOK_SECRET or DISCORD_URL is not set')

function isSigned({ headers }: IncomingMessage, body: Buffer): boolean {
  const at = String(headers['x-service-timestamp'])
  const expected = createHmac('sha256', WEBHOOK_SECRET).update(`${at}.`).update(body).digest()
  const given = Buffer.from(String(headers['x-service-signature']), 'hex')
  const isFresh = Math.abs(Date.now() / 1_000 - Number(at)) <= 300
  return isFresh && given.length === expected.length && timingSafeEqual(given, expected)
}

type Row = Readonly<Record<string, string | number>>
type Delivery = { event: string; test?: true; data: Row & { calls?: Row[] } }

const line = (one: Row): string =>
  `${one.call ?? one.regime} ${one.coin}: confidence ${one.confidence} %, <${one.verify_url}>`

async function post({ event, test, data }: Delivery): Promise<Response> {
  const rows = data.calls ?? [data]
  const head = `${test ? 'A test: ' : ''}${event} ${data.exchange} ${data.timeframe}`
  const text = [head, ...rows.map(line)].join('\n').slice(0, 2_000)
  const body = JSON.stringify({ content: text, allowed_mentions: { parse: [] } })
  return fetch(DISCORD_URL, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
}

async function relay(request: IncomingMessage, response: ServerResponse): Promise<ServerResponse> {
  if (!(Number(request.headers['content-length']) <= 65_536)) return response.writeHead(413).end()
  const body = Buffer.concat(await Array.fromAsync<Buffer>(request).catch(() => []))
  if (!isSigned(request, body)) return response.writeHead(401).end()
  // The service tries a delivery again until it is answered with 2xx, and not before Retry-After.
  const posted = await post(JSON.parse(body.toString())).catch(() => undefined)
  const wait = posted?.headers.get('retry-after')
  return response.writeHead(posted?.ok ? 204 : 503, wait ? { 'retry-after': wait } : {}).end()
}

const server = createServer((request, response) => void relay(request, response))
server.listen(Number(PORT), '127.0.0.1', () => process.stdout.write(`${JSON.stringify(server.address())}\n`))
