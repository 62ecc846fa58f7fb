import { hash } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { assert } from '../../../contracts/assert.ts'
import { reasonOf } from '../../../contracts/errors.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { createServer } from '../../runtime/http/node-http.ts'
import {
  type Checkpoint,
  checkpointText,
  openCheckpoint,
  parseCheckpoint,
  signatureLine,
} from '../notes/checkpoint.ts'
import { SIGNATURE_TYPES, type Signer, signerOf, type Verifier } from '../notes/note-keys.ts'
import type { LogKey } from '../signing/log-keys.ts'
import { keepNewestCheckpoint } from '../signing/newest-checkpoint.ts'
import { EMPTY_ROOT, isConsistent } from '../tree/merkle.ts'
import { parseAddCheckpoint } from './add-checkpoint.ts'

export interface WitnessOptions extends Pick<Clock, 'now'> {
  readonly signers: readonly Signer[]
  /** Keys of the logs that are cosigned; the name of a key is the origin of its log. */
  readonly logs: readonly Verifier[]
  /** The folder that keeps the newest checkpoint of each log; only one witness uses it at a time. */
  readonly directory: string
}

export interface WitnessAnswer {
  readonly status: number
  readonly body: string
  readonly type?: string
}

/** Cosigns checkpoints of logs that only ever grow (C2SP tlog-witness). */
export type Witness = ReturnType<typeof createWitness>

/** A witness signs with each key of its file; the type says that it cosigns. */
export const cosignersOf = (keys: readonly LogKey[], name: string): Signer[] =>
  keys.map(({ type, seed }) =>
    signerOf(name, type === SIGNATURE_TYPES.ed25519 ? SIGNATURE_TYPES.ed25519Cosignature : type, seed),
  )

/** @throws ServiceError `config_invalid` where what it kept of a log cannot be read */
export function createWitness({ signers, logs, directory, now }: WitnessOptions) {
  const known = new Map(
    logs.map(({ name }) => {
      const file = keepNewestCheckpoint(join(directory, hash('sha256', name)))
      // A damaged file fails the start: a witness that forgot a log could cosign another history of it.
      file.read()
      return [name, { file, keys: logs.filter((key) => key.name === name) }]
    }),
  )

  return {
    // Nothing is awaited between the comparison and the write, so that two requests cannot overlap.
    addCheckpoint(body: string): WitnessAnswer {
      const request = parseAddCheckpoint(body)
      const checkpoint = request === undefined ? undefined : checkpointIn(request.note)
      if (request === undefined || checkpoint === undefined)
        return refused(
          400,
          'An old size, hashes, an empty line and a checkpoint without extensions are expected.',
        )
      const log = known.get(checkpoint.origin)
      if (log === undefined) return refused(404, 'This witness does not know the origin.')
      try {
        openCheckpoint(request.note, log.keys)
      } catch (error) {
        return refused(403, reasonOf(error))
      }
      const { old, proof } = request
      if (old > checkpoint.size) return refused(400, 'The old size is beyond that of the checkpoint.')
      const before = log.file.read() ?? { origin: checkpoint.origin, size: 0, root: EMPTY_ROOT }
      if (old !== before.size || (old === checkpoint.size && !before.root.equals(checkpoint.root)))
        return { status: 409, body: `${before.size}\n`, type: 'text/x.tlog.size' }
      if (!isConsistent(before, checkpoint, proof))
        return refused(422, `The proof does not show that the tree of ${before.size} is its beginning.`)
      assert(checkpoint.size >= before.size, 'a witness cosigns only trees that grow', checkpoint.size)
      if (checkpoint.size > before.size) log.file.write(checkpoint)
      const seconds = Math.floor(now() / 1_000)
      return { status: 200, body: signers.map((key) => signatureLine(checkpoint, key, seconds)).join('') }
    },
  }
}

/** Undefined for a text that is more or less than a checkpoint: all of it is cosigned, so all of it has to be known. */
function checkpointIn(note: string): Checkpoint | undefined {
  try {
    const text = note.slice(0, note.lastIndexOf('\n\n') + 1)
    const checkpoint = parseCheckpoint(text)
    return checkpointText(checkpoint) === text ? checkpoint : undefined
  } catch {
    return undefined
  }
}

const refused = (status: number, why: string): WitnessAnswer => ({ status, body: `${why}\n` })

/** Hashes, and a checkpoint with as many signatures as one may have. */
const MOST_BYTES = 262_144
/** For a request as a whole. */
const PATIENCE_MS = 10_000

/** Serves a witness: `POST /add-checkpoint`. It does not listen yet. */
export function witnessServer(witness: Witness, onFault: (error: unknown) => void): Server {
  async function answer(request: IncomingMessage): Promise<WitnessAnswer> {
    if (request.url !== '/add-checkpoint') return refused(404, 'POST /add-checkpoint is all there is.')
    if (request.method !== 'POST') return refused(405, 'Checkpoints are sent by POST.')
    const body = await bodyOf(request)
    return body === undefined
      ? refused(413, `A request has at most ${MOST_BYTES} bytes.`)
      : witness.addCheckpoint(body)
  }
  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const { status, body, type = 'text/plain; charset=utf-8' } = await answer(request)
      const isCut = status === 413 ? { connection: 'close' } : {}
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store', ...isCut }).end(body)
    } catch (error) {
      onFault(error)
      response.writeHead(500).end('The checkpoint could not be kept; nothing was cosigned.\n')
    }
  }
  const options = {
    requestTimeout: PATIENCE_MS,
    headersTimeout: PATIENCE_MS,
    connectionsCheckingInterval: 1_000,
  }
  const server = createServer(options, (request, response) => {
    request.on('error', () => undefined)
    void respond(request, response)
  })
  server.maxConnections = 1_000
  return server
}

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = []
  let bytes = 0
  // Stops reading without closing the connection, so that the refusal still reaches the sender.
  for await (const part of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > MOST_BYTES) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}
