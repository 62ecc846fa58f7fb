import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { verifyWebhook } from '../../services/webhooks/receiving/verify-webhook.fixture.ts'
import type { Records } from './records.ts'

/** A receiver of webhooks that writes down what came, and takes it. */
export interface Receiver {
  readonly url: string
  /** The secret of what comes to a path; deliveries may come before it is known here. */
  knows(path: string, secret: string): void
  close(): Promise<void>
}

export async function startReceiver(records: Records): Promise<Receiver> {
  const secrets = new Map<string, string>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const path = request.url ?? ''
      const secret = secrets.get(path)
      // What is refused comes again: nothing is taken unchecked.
      if (secret === undefined) {
        response.writeHead(503).end()
        return
      }
      const body = Buffer.concat(chunks)
      const verified = verifyWebhook({ body, headers: request.headers, secret, now: Date.now() })
      if (!verified.ok) records.faults.push(`a delivery to ${path} is not signed: ${verified.reason}`)
      else {
        const { sequence = 0, delivery_id: deliveryId, event, data } = verified.webhook
        const { verdict_id: verdictId } = data as { readonly verdict_id: string }
        records.deliveries.push({ at: Date.now(), path, sequence, deliveryId, event, verdictId })
      }
      response.writeHead(204).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    knows: (path, secret) => void secrets.set(path, secret),
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
