import { join } from 'node:path'
import { Agent, fetch as fetchOver } from 'undici'
import { z } from 'zod'
import {
  createSignalClient,
  type SignalClientOptions,
  SignalRefusal,
} from '../../../clients/typescript/src/index.ts'
import { ERRORS, type ErrorCode, ServiceError } from '../../../contracts/errors/errors.ts'
import { findOwnerSocket } from '../../composition/adapters/owner-socket.ts'
import { SETTINGS } from '../../runtime/config/settings.ts'
import { type CommandInput, FOLDER_FLAGS, flag, settingFlag } from './command.ts'

/** Flags that choose the service to ask. */
export const SERVICE_FLAGS = {
  server: flag(
    z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).optional(),
    'Address of the service to ask; the operator adds --operator-token. Without it, the service that runs on --data-dir.',
    'http://127.0.0.1:8402',
  ),
  'operator-token': settingFlag('OPERATOR_TOKEN'),
  ...FOLDER_FLAGS,
} as const

/**
 * The running service that a command asks: the one at `--server`, or the one that runs on the data folder, through the
 * socket of its owner. It says which one on standard error, unless it is the default.
 *
 * @throws ServiceError `config_invalid` if none runs: a closed store is not read
 */
export async function findService({
  flags: { server: url, 'operator-token': apiKey, 'data-dir': dataDir, market },
  signal,
  stderr,
}: Pick<CommandInput<typeof SERVICE_FLAGS>, 'flags' | 'signal' | 'stderr'>): Promise<Service> {
  const directory = join(dataDir, market)
  const place = url ?? directory
  if (place !== join(SETTINGS.DATA_DIR.schema.parse(undefined), SETTINGS.MARKET.schema.parse(undefined)))
    stderr.write(`asking ${place}\n`)
  const onRetry = (why: string, waitMs: number): void =>
    void stderr.write(`${place}: ${why} (asking again in ${waitMs / 1_000} s)\n`)
  if (url !== undefined) return openService({ url, onRetry, ...(apiKey && { apiKey }) }, signal)
  const socketPath = await findOwnerSocket(directory)
  if (socketPath !== undefined) return openService({ socketPath, onRetry }, signal)
  throw new ServiceError('config_invalid', {
    message: `no service runs on ${directory}: start it, or name another (--data-dir, --market, or --server with --operator-token)`,
  })
}

/** Options of the client, with a socket of the owner instead of an address. */
interface ServiceOptions extends Partial<SignalClientOptions> {
  readonly socketPath?: string
}

/** A service may have to ask a venue for bars first. */
const ANSWER_MS = 120_000
/** Tries of a request: a busy service is waited for as long as it says, one that is not there only shortly. */
const TRIES = 3

type Query = Readonly<Record<string, string>>
export type Service = ReturnType<typeof openService>

/**
 * A running service, asked over HTTP by the client that its customers have. Each method fails with the refusal of the
 * service, or with `server_unreachable`.
 *
 * @param signal ends every request
 */
export function openService(options: ServiceOptions, signal: AbortSignal) {
  const { url = 'http://localhost', socketPath } = options
  const where = socketPath ?? url
  const dispatcher = socketPath && new Agent({ pipelining: 0, connect: { socketPath } })
  const client = createSignalClient({
    tries: TRIES,
    timeoutMs: ANSWER_MS,
    ...(dispatcher && {
      fetch: ((to: string, init: object) =>
        fetchOver(to, { ...init, dispatcher })) as unknown as typeof fetch,
    }),
    ...options,
    url,
  })
  const stranger = (why: string, cause?: unknown): ServiceError =>
    new ServiceError('server_unreachable', {
      message: `${where} does not answer as this service does: ${why}`,
      cause,
    })
  /** @throws ServiceError of the registry for what the client throws */
  function explain(error: unknown, more = ''): never {
    if (!(error instanceof SignalRefusal)) throw error
    const { code, message } = (error.details ?? {}) as { code?: unknown; message?: unknown }
    if (typeof code === 'string' && typeof message === 'string' && Object.hasOwn(ERRORS, code))
      throw new ServiceError(code as ErrorCode, { message, cause: error })
    throw stranger(`${error.message}${more}`, error)
  }
  function parsed<Schema extends z.ZodType>(schema: Schema, answer: unknown): z.output<Schema> {
    const read = schema.safeParse(answer)
    if (read.success) return read.data
    throw stranger('this release expects another answer')
  }

  return {
    get: async <Schema extends z.ZodType>(path: string, query: Query, schema: Schema) =>
      parsed(schema, await client.get(path, query, { signal }).catch(explain)),
    bytes: async (path: string): Promise<Buffer> =>
      Buffer.from(await client.raw(path, { signal }).catch(explain)),
    post: (path: string, body: object) => client.post(path, body, { signal }).catch(explain),
    delete: (path: string) => client.delete(path, { signal }).catch(explain),
    /** The pages of a list, from its beginning to its end. */
    async *pages(path: string, query: Query) {
      try {
        yield* client.pages(path, query, { signal })
      } catch (error) {
        explain(error)
      }
    },
    /** Recorded verdicts to the end of the log. A failure names the last row that was read. */
    async *verdicts(parameters: Query, limit: number) {
      let read = 'Nothing was read'
      try {
        for await (const row of client.replay({ ...parameters, limit }, { signal })) {
          read = `The last whole row has the cursor ${row.cursor}`
          yield row
        }
      } catch (error) {
        explain(error, `. ${read}`)
      }
    },
    /** The answer of `/readyz`, also if the service is not ready. Only its operator sees the components. */
    state: async (): Promise<ServiceState> =>
      parsed(stateSchema, await client.state({ signal }).catch(explain)),
  }
}

const componentSchema = z.object({ name: z.string(), state: z.string(), detail: z.string() })
const stateSchema = z.object({ status: z.string(), components: z.array(componentSchema).default([]) })
export type ServiceState = z.infer<typeof stateSchema>
