// Receives webhooks: checks that they are ours, answers at once, and does the work after that. Node.js 24 is all it needs:
//   WEBHOOK_SECRET=whsec_… PORT=9000 npx node receiver.ts
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'

const SECRET = process.env.WEBHOOK_SECRET ?? ''
const PORT = Number(process.env.PORT ?? 9000)
const TOLERANCE_S = 300
const MAX_BYTES = 65_536

interface Webhook {
  readonly event: string
  readonly delivery_id: string
  readonly sequence?: number
  /** A sample that was asked for, to see whether it arrives. */
  readonly test?: boolean
  readonly data: Record<string, unknown>
}

/** Deliveries that were handled. A real bot keeps them where they outlive a restart: its database. */
const handled = new Set<string>()
let newest = 0

/** Undefined for what is ours. The signature is over the bytes as they came: parse them after this, not before. */
function whyRefused(headers: IncomingHttpHeaders, body: Buffer): string | undefined {
  const timestamp = String(headers['x-service-timestamp'] ?? '')
  if (!/^\d{1,12}$/.test(timestamp)) return 'X-Service-Timestamp is missing or no number'
  const away = Math.abs(Date.now() / 1_000 - Number(timestamp))
  if (away > TOLERANCE_S) return `it was sent ${Math.round(away)} s away from this clock, more than ${TOLERANCE_S} s`
  const expected = createHmac('sha256', SECRET).update(`${timestamp}.`).update(body).digest('hex')
  // While the secret is rotated, the second header holds the signatures of the newer secrets.
  const next = String(headers['x-service-signature-next'] ?? '').split(', ')
  const isSigned = [String(headers['x-service-signature'] ?? ''), ...next].some((text) => {
    const given = Buffer.from(text)
    return given.length === expected.length && timingSafeEqual(given, Buffer.from(expected))
  })
  return isSigned ? undefined : 'the signature does not fit WEBHOOK_SECRET: is it the secret of this subscription?'
}

function handle({ event, delivery_id: id, sequence, test, data }: Webhook): void {
  if (test === true) {
    process.stdout.write(`test ${event}\n`)
    return
  }
  // The same delivery may come twice: after a lost answer, or because you asked for it again.
  if (handled.has(id)) return
  handled.add(id)
  if (sequence !== undefined) {
    // Deliveries may overtake one another, so a hole is worth a look only when it stays: then pull what was missed.
    if (newest > 0 && sequence > newest + 1) process.stdout.write(`hole: ${newest + 1} to ${sequence - 1}\n`)
    newest = Math.max(newest, sequence)
  }
  // This is where a bot would act. What it gets is information, not advice: decide what you risk yourself.
  process.stdout.write(`${sequence ?? '-'} ${event} ${JSON.stringify(data)}\n`)
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  let bytes = 0
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > MAX_BYTES) request.destroy()
    else chunks.push(chunk)
  })
  request.on('end', () => {
    const body = Buffer.concat(chunks)
    const reason = whyRefused(request.headers, body)
    if (reason !== undefined) {
      process.stderr.write(`refused: ${reason}\n`)
      response.writeHead(401).end()
      return
    }
    const webhook = JSON.parse(body.toString()) as Webhook
    // Answer first: whoever takes longer than 15 seconds is sent the same again. Work of yours that may fail, write
    // down durably before this line.
    response.writeHead(204).end()
    handle(webhook)
  })
})

if (SECRET === '') throw new Error('WEBHOOK_SECRET is not set')
server.listen(PORT, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`listening on ${typeof address === 'object' ? address?.port : address}\n`)
})
