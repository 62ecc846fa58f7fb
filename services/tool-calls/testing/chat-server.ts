/**
 * A process that tests start, and kill: questions over HTTP, counted in an embedded store. Imported by nobody; its
 * arguments are the folder of the store and that of the documentation.
 */

import { randomBytes, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { ERRORS, isServiceError } from '../../../contracts/errors/errors.ts'
import { chats } from '../../../projections/index.ts'
import { planWindow } from '../../accounts/index.ts'
import { ChatLedger, createChatIndex, openKnowledge } from '../../knowledge/index.ts'
import { openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { startProjector } from '../../log/projector/projector.ts'
import { openRowTables } from '../../log/projector/row-tables.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { createFactIds } from '../../runtime/ids/fact-id.ts'
import { uuidV7 } from '../../runtime/ids/uuid.ts'
import { createKnowledgeService } from '../knowledge-service.ts'

const [directory = '', docs = ''] = process.argv.slice(2)
const ACCOUNT = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'

const store = await openEmbeddedStore({ directory, now: Date.now })
const projector = startProjector({
  store,
  tables: openRowTables(':memory:', 'chats'),
  projections: [chats],
  sleep,
})
await projector.caughtUp()
const newId = (): string => uuidV7(Date.now(), randomBytes(10))
const service = createKnowledgeService({
  identify: async () => ({
    outcome: 'OK',
    accountId: ACCOUNT,
    keyId: ACCOUNT,
    tier: 'starter',
    // Long enough for a test that runs over the turn of a month.
    window: planWindow(Date.UTC(2026, 10, 1), Date.UTC(2036, 10, 1)),
  }),
  knowledge: await openKnowledge({
    folder: docs,
    publicUrl: () => '',
    report: (event) => process.stderr.write(`${event}\n`),
    // Each answer tells itself from every other, as those of a real model do.
    model: { name: 'serial', complete: async () => `Answer ${randomUUID()} [1].` },
  }),
  ledger: new ChatLedger({
    store,
    index: createChatIndex(projector),
    idOf: createFactIds(Buffer.from('chats')),
    newId,
    now: Date.now,
    sleep,
    signal: new AbortController().signal,
  }),
  now: Date.now,
})

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const { body } = await service.chat({
      request: JSON.parse(await text(request)),
      authorization: 'any',
      idempotencyKey: String(request.headers['idempotency-key']),
      requestId: newId(),
      channel: 'http',
    })
    response.end(JSON.stringify(body))
  } catch (error) {
    const code = isServiceError(error) ? error.code : 'internal_error'
    response.writeHead(ERRORS[code].status).end(JSON.stringify({ code, message: String(error) }))
  }
}

const server = createServer((request, response) => void answer(request, response))
server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port })
})
