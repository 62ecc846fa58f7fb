import { join } from 'node:path'
import { Agent, fetch as fetchOver } from 'undici'
import { z } from 'zod'
import { createSignalClient, SignalRefusal } from '../../../clients/typescript/src/index.ts'
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
  flags: { server: url, 'operator-token': token, 'data-dir': dataDir, market },
  signal,
  stderr,
}: Pick<CommandInput<typeof SERVICE_FLAGS>, 'flags' | 'signal' | 'stderr'>): Promise<Service> {
  const directory = join(dataDir, market)
  const place = url ?? directory
  if (place !== join(SETTINGS.DATA_DIR.schema.parse(undefined), SETTINGS.MARKET.schema.parse(undefined)))
    stderr.write(`asking ${place}\n`)
  const onWait = (why: string, waitMs: number): void =>
    void stderr.write(`${place}: ${why} (asking again in ${waitMs / 1_000} s)\n`)
  if (url !== undefined) return openService({ name: `the service at ${url}`, url, token, onWait }, signal)
  const socketPath = await findOwnerSocket(directory)
  if (socketPath !== undefined)
    return openService({ name: `the service that runs on ${directory}`, socketPath, onWait }, signal)
  throw new ServiceError('config_invalid', {
    message: `no service runs on ${directory}: start it, or name another (--data-dir, --market, or --server with --operator-token)`,
  })
}

export interface ServiceAddress {
  /** For people; the address unless given. */
  readonly name?: string
  /** Default: the host behind the socket. */
  readonly url?: string
  /** Through the owner's socket instead of the host of the address. */
  readonly socketPath?: string
  readonly token?: string | undefined
  /** For a check: one try, with so long for its answer. */
  readonly onceWithinMs?: number
  /** Called before each wait for a service that is busy or has gone away. */
  readonly onWait?: (why: string, waitMs: number) => void
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
export function openService(address: ServiceAddress, signal: AbortSignal) {
  const { url = 'http://localhost', socketPath, token, onceWithinMs, onWait = () => undefined } = address
  const where = socketPath ?? url
  const dispatcher = socketPath && new Agent({ pipelining: 0, connect: { socketPath } })
  const client = createSignalClient({
    url,
    ...(token !== undefined && { apiKey: token }),
    ...(dispatcher && {
      fetch: ((to: string, init: object) =>
        fetchOver(to, { ...init, dispatcher })) as unknown as typeof fetch,
    }),
    tries: onceWithinMs === undefined ? TRIES : 1,
    timeoutMs: onceWithinMs ?? ANSWER_MS,
    onRetry: onWait,
  })
  const explained = <Answer>(asking: Promise<Answer>, more?: string) => explain(where, asking, more)

  return {
    name: address.name ?? where,
    async get<Schema extends z.ZodType>(
      path: string,
      query: Query,
      schema: Schema,
    ): Promise<z.output<Schema>> {
      const read = schema.safeParse(await explained(client.get(path, query, { signal })))
      if (read.success) return read.data
      throw stranger(where, 'this release expects another answer')
    },
    post: (path: string, body: object): Promise<unknown> => explained(client.post(path, body, { signal })),
    delete: (path: string): Promise<void> => explained(client.delete(path, { signal })),
    /** The pages of a list, from its beginning to its end. */
    async *pages(path: string, query: Query): AsyncGenerator<unknown, void, void> {
      const pages = client.pages(path, query, { signal })
      for (;;) {
        const page = await explained(pages.next())
        if (page.done === true) return
        yield page.value
      }
    },
    /** Recorded verdicts to the end of the log. A failure names the last row that was read. */
    async *verdicts(parameters: Query, limit: number) {
      const rows = client.replay({ ...parameters, limit }, { signal })
      let read = 'Nothing was read'
      for (;;) {
        const row = await explained(rows.next(), `. ${read}`)
        if (row.done === true) return
        read = `The last whole row has the cursor ${row.value.cursor}`
        yield row.value
      }
    },
    /** The answer of `/readyz`, also if the service is not ready. Only its operator sees the components. */
    async state(): Promise<ServiceState> {
      const read = stateSchema.safeParse(await explained(client.state({ signal })))
      if (read.success) return read.data
      throw stranger(where, 'it says nothing of its state')
    },
  }
}

const componentSchema = z.object({ name: z.string(), state: z.string(), detail: z.string() })
const stateSchema = z.object({ status: z.string(), components: z.array(componentSchema).default([]) })
export type ServiceState = z.infer<typeof stateSchema>

/** Failures of the client as errors of the registry. */
async function explain<Answer>(where: string, asking: Promise<Answer>, more = ''): Promise<Answer> {
  try {
    return await asking
  } catch (error) {
    if (!(error instanceof SignalRefusal)) throw error
    const { code, message } = (error.details ?? {}) as { code?: unknown; message?: unknown }
    if (typeof code === 'string' && typeof message === 'string' && Object.hasOwn(ERRORS, code))
      throw new ServiceError(code as ErrorCode, { message, cause: error })
    throw stranger(where, `${error.message}${more}`, error)
  }
}

const stranger = (where: string, why: string, cause?: unknown): ServiceError =>
  new ServiceError('server_unreachable', {
    message: `${where} does not answer as this service does: ${why}`,
    cause,
  })
