// Receives webhooks: checks that they are ours, answers at once, and does the work after that. It needs Node.js 26 and the client in
// clients/typescript:
//   WEBHOOK_SECRET=whsec_… PORT=9000 npx node docs/examples/receiver.ts
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { verifyWebhook, type Webhook } from '../../clients/typescript/src/index.ts'

const SECRET = process.env.WEBHOOK_SECRET ?? ''
const PORT = Number(process.env.PORT ?? 9000)
const MAX_BYTES = 65_536

/** Deliveries that were handled. A real bot keeps them where they outlive a restart: its database. */
const handled = new Set<string>()
let newest = 0

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
    take(request.headers, Buffer.concat(chunks), response).catch((error: unknown) => {
      process.stderr.write(`${String(error)}\n`)
      response.destroy()
    })
  })
})

async function take(headers: IncomingHttpHeaders, body: Buffer, response: ServerResponse): Promise<void> {
  let webhook: Webhook
  try {
    // The signature is over the bytes as they came: they are parsed after it was checked, not before.
    webhook = await verifyWebhook({ secret: SECRET, headers, body })
  } catch (error) {
    process.stderr.write(`refused: ${(error as Error).message}\n`)
    response.writeHead(401).end()
    return
  }
  // Answer first: whoever takes longer than 15 seconds is sent the same again. Work of yours that may fail, write down
  // durably before this line.
  response.writeHead(204).end()
  handle(webhook)
}

if (SECRET === '') throw new Error('WEBHOOK_SECRET is not set')
server.listen(PORT, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`listening on ${typeof address === 'object' ? address?.port : address}\n`)
})
