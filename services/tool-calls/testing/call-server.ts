/**
 * A process that tests start, and kill: the path of a tool call over HTTP, around a tool handler that answers a new
 * serial number to every call. Imported by nobody; its one argument is a {@link CallServerArguments} as JSON.
 */

import { randomBytes, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { ERRORS, ServiceError } from '../../../contracts/errors/errors.ts'
import { debits } from '../../../projections/index.ts'
import { createDebitIndex, createQuotaLedger } from '../../accounts/index.ts'
import { openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { openEventStoreDbStore } from '../../log/eventstoredb/eventstoredb-store.ts'
import { startProjector } from '../../log/projector/projector.ts'
import { openRowTables } from '../../log/projector/row-tables.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { createFactIds } from '../../runtime/ids/fact-id.ts'
import { uuidV7 } from '../../runtime/ids/uuid.ts'
import { createCallPath } from '../call-path.ts'
import type { CallServerArguments } from './call-servers.ts'

const { store: where, payer } = JSON.parse(process.argv[2] ?? '') as CallServerArguments
/** A tool handler takes a moment, so that calls of different processes overlap. */
const LONGEST_COMPUTATION_MS = 4

const store =
  where.kind === 'embedded'
    ? await openEmbeddedStore({ directory: where.directory, now: Date.now })
    : openEventStoreDbStore({ connectionString: where.connectionString })
const projector = startProjector({
  store,
  tables: openRowTables(':memory:', 'race'),
  projections: [debits],
  sleep,
})
await projector.caughtUp()

const calls = createCallPath({
  identify: async () => ({ outcome: 'OK', accountId: payer.id, keyId: payer.id, ...payer }),
  anonymousPayer: () => 'nobody',
  ledger: createQuotaLedger({
    store,
    index: createDebitIndex(projector),
    idOf: createFactIds(Buffer.from('race')),
    newId: () => uuidV7(Date.now(), randomBytes(10)),
    now: Date.now,
    sleep,
    signal: new AbortController().signal,
  }),
  async answer() {
    await sleep(Math.random() * LONGEST_COMPUTATION_MS, new AbortController().signal)
    return { serial: randomUUID(), padding: 'x'.repeat(1_000) }
  },
  market: 'simulated',
  version: '0',
  now: Date.now,
})

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const key = request.headers['idempotency-key']
  try {
    const { body, isReplay } = await calls.call({
      tool: 'get_trade_call',
      request: JSON.parse(await text(request)) as unknown,
      authorization: request.headers.authorization,
      address: '127.0.0.1',
      idempotencyKey: typeof key === 'string' ? key : undefined,
      requestId: randomUUID(),
      channel: 'http',
    })
    response.end(JSON.stringify({ ...body, isReplay }))
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    response.statusCode = ERRORS[error.code].status
    response.end(JSON.stringify({ code: error.code, message: error.message }))
  }
}

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    response.destroy(error instanceof Error ? error : new Error(String(error)))
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
