import { Agent, fetch as fetchOver } from 'undici'
import type { z } from 'zod'
import {
  createSignalClient,
  type SignalClient,
  SignalRefusal,
} from '../../../clients/typescript/src/index.ts'
import { ERRORS, type ErrorCode, ServiceError } from '../../../contracts/errors.ts'
import type { ProcessFacts } from '../../http/routes/health.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { type AnswerHead, isBusy, paced } from '../../runtime/http/paced.ts'

export interface ServiceAddress {
  readonly url: string
  /** For people: continues "from". Default: the address. */
  readonly name?: string
  /** Through the owner's socket instead of the host of the address. */
  readonly socketPath?: string
  readonly token?: string | undefined
  /** Called before each wait for a service that is busy or has gone away. */
  readonly onWait?: (why: string, waitMs: number) => void
}

/** How long a service may take to begin its answer, and between two parts of it. */
const ANSWER_MS = 30_000
/** How long an answer may take with all the waits that a busy service asks for. */
const WITH_WAITS_MS = 3_600_000

type Query = Readonly<Record<string, string>>

/** A running service, asked over HTTP by the client that its customers have; answers are checked against schemas. */
export class Service {
  readonly #address: ServiceAddress
  readonly #signal: AbortSignal
  readonly #client: SignalClient

  /** @param signal ends every request */
  constructor(address: ServiceAddress, signal: AbortSignal, fetch = patientFetch(address, signal)) {
    this.#address = address
    this.#signal = signal
    this.#client = createSignalClient({
      url: address.url,
      ...(address.token !== undefined && { apiKey: address.token }),
      // A service that does not answer is an error at once; a busy one is waited for below.
      tries: 1,
      timeoutMs: WITH_WAITS_MS,
      onRetry: (why, waitMs) => address.onWait?.(why, waitMs),
      fetch,
    })
  }

  get name(): string {
    return this.#address.name ?? this.#address.url
  }

  /** @throws ServiceError what the service refuses with, `server_unreachable` */
  async get<Schema extends z.ZodType>(path: string, query: Query, schema: Schema): Promise<z.output<Schema>> {
    return this.#read(this.#client.get(path, query, { signal: this.#signal }), schema)
  }

  async post<Schema extends z.ZodType>(
    path: string,
    body: object,
    schema: Schema,
  ): Promise<z.output<Schema>> {
    return this.#read(this.#client.post(path, body, { signal: this.#signal }), schema)
  }

  async delete(path: string): Promise<void> {
    await this.#explained(this.#client.delete(path, { signal: this.#signal }))
  }

  /** The pages of a list, from its beginning to its end. Throws what `get` does. */
  async *pages<Page>(path: string, query: Query, schema: z.ZodType<Page>): AsyncGenerator<Page, void, void> {
    const pages = this.#client.pages(path, query, { signal: this.#signal })
    for (;;) {
      const page = await this.#explained(pages.next())
      if (page.done === true) return
      yield await this.#read(Promise.resolve(page.value), schema)
    }
  }

  /** Recorded verdicts: to the end of the log, or as they become visible. A cut names the last row that was read. */
  async *verdicts(kind: 'replay' | 'follow', parameters: Query, limit: number) {
    const rows = this.#client[kind]({ ...parameters, limit }, { signal: this.#signal })
    let last: string | undefined
    for (let left = limit; left > 0; left -= 1) {
      const row = await this.#explained(rows.next(), () =>
        last === undefined ? 'Nothing was read' : `The last whole row has the cursor ${last}`,
      )
      if (row.done === true) return
      last = row.value.cursor
      yield row.value
    }
    await rows.return()
  }

  /** The state of the service, also where it is not ready. */
  async state(): Promise<ServiceState> {
    const body = await this.#explained(this.#client.state({ signal: this.#signal }))
    // Only its operator sees the components.
    if (typeof body['status'] === 'string') return { components: [], ...body } as unknown as ServiceState
    throw this.#stranger('it says nothing of its state')
  }

  async #read<Schema extends z.ZodType>(asking: Promise<unknown>, schema: Schema): Promise<z.output<Schema>> {
    const read = schema.safeParse(await this.#explained(asking))
    if (read.success) return read.data
    throw this.#stranger('this release expects another answer')
  }

  /** Failures of the client as errors of the registry: the refusal of the service, or `server_unreachable`. */
  async #explained<Answer>(asking: Promise<Answer>, more?: () => string): Promise<Answer> {
    try {
      return await asking
    } catch (error) {
      if (!(error instanceof SignalRefusal)) throw error
      const { code, message } = (error.details ?? {}) as { code?: unknown; message?: unknown }
      if (typeof code === 'string' && typeof message === 'string' && Object.hasOwn(ERRORS, code))
        throw new ServiceError(code as ErrorCode, { message, cause: error })
      throw this.#stranger(`${error.message}${more === undefined ? '' : `. ${more()}`}`, error)
    }
  }

  #stranger(why: string, cause?: unknown): ServiceError {
    const { url, socketPath } = this.#address
    const message = `${socketPath ?? url} does not answer as this service does: ${why}`
    return new ServiceError('server_unreachable', { message, cause })
  }
}

/** The answer of `/readyz`, as far as a command shows it. */
export interface ServiceState {
  readonly status: string
  readonly components: readonly { readonly name: string; readonly state: string; readonly detail: string }[]
  /** Only its operator sees it, and only of a release that has it. */
  readonly process?: ProcessFacts
}

/** How long a service may take to answer with its state. */
const STATE_MS = 5_000

/** Asks a service for its state, once. @throws ServiceError `server_unreachable` */
export const askForState = (address: ServiceAddress): Promise<ServiceState> =>
  new Service(address, AbortSignal.timeout(STATE_MS), oneFetch(address)).state()

function oneFetch({ socketPath }: ServiceAddress): typeof fetch {
  const dispatcher = new Agent({
    pipelining: 0,
    headersTimeout: ANSWER_MS,
    bodyTimeout: ANSWER_MS,
    ...(socketPath !== undefined && { connect: { socketPath } }),
  })
  return ((url: string, init: object) => fetchOver(url, { ...init, dispatcher })) as unknown as typeof fetch
}

/** Asks again where a service is busy and says when. */
function patientFetch(address: ServiceAddress, signal: AbortSignal): typeof fetch {
  const once = oneFetch(address)
  return async (url, init) => {
    const ask = async () => {
      const answer = await once(url, init)
      return { status: answer.status, retryAfter: answer.headers.get('retry-after'), answer }
    }
    // A limit refuses before anything is done. Another refusal may come after something was.
    const isPassing = (head: AnswerHead): boolean =>
      isBusy(head) && (init?.method === undefined || head.status === 429)
    const onWait = (waitMs: number, { status, answer }: Awaited<ReturnType<typeof ask>>): void => {
      void answer.body?.cancel()
      address.onWait?.(`it answers ${status}`, waitMs)
    }
    return (await paced(ask, { now: Date.now, sleep, signal, isPassing, onWait })).answer
  }
}
