import { join } from 'node:path'
import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { findOwnerSocket } from '../../composition/adapters/owner-socket.ts'
import { pagesOf } from '../../runtime/http/pages.ts'
import type { CommandInput } from './command.ts'
import { SOURCE_FLAGS } from './common-flags.ts'
import { ask, readJson, type ServerAddress } from './server-source.ts'

/** Flags that choose the service for an operator's command. */
export const OPERATOR_FLAGS = {
  server: {
    ...SOURCE_FLAGS.server,
    help: 'Address of the service to ask, with --operator-token. Without it, the service that runs on --data-dir.',
  },
  'operator-token': SOURCE_FLAGS['operator-token'],
  'data-dir': SOURCE_FLAGS['data-dir'],
  market: SOURCE_FLAGS.market,
} as const

export const OPERATOR_NOTE =
  'It asks the service that runs on the data folder, through the socket that only its owner can open, or the one at --server.'

type OperatorInput = Pick<CommandInput<typeof OPERATOR_FLAGS>, 'flags' | 'signal'>

/** Asks a running service on the operator's behalf. */
export interface OperatorRequests {
  /** @throws ServiceError what the service refuses with, `server_unreachable` */
  get<Schema extends z.ZodType>(
    path: string,
    query: Readonly<Record<string, string>>,
    schema: Schema,
  ): Promise<z.output<Schema>>
  /** The pages of a list, from its beginning to its end. Throws what `get` does. */
  pages<Page extends { readonly next: string | null }>(
    path: string,
    query: Readonly<Record<string, string>>,
    schema: z.ZodType<Page>,
  ): AsyncGenerator<Page, void, void>
  post<Schema extends z.ZodType>(path: string, body: JsonObject, schema: Schema): Promise<z.output<Schema>>
  delete(path: string): Promise<void>
}

/** @throws ServiceError `config_invalid` where no service runs: a closed store is changed by nobody */
export async function openOperatorRequests({ flags, signal }: OperatorInput): Promise<OperatorRequests> {
  const address = await findService(flags)
  const isAnswer = (status: number): boolean => status >= 200 && status < 300
  const get: OperatorRequests['get'] = async (path, query, schema) =>
    readJson(await ask(address, path, query, signal), address, schema)
  return {
    get,
    pages: (path, query, schema) =>
      pagesOf(path, (after) => get(path, after === undefined ? query : { ...query, after }, schema)),
    async post(path, body, schema) {
      const answer = await ask(address, path, {}, signal, isAnswer, { method: 'POST', body })
      return readJson(answer, address, schema)
    },
    async delete(path) {
      const answer = await ask(address, path, {}, signal, isAnswer, { method: 'DELETE' })
      answer.resume()
    },
  }
}

async function findService(flags: OperatorInput['flags']): Promise<ServerAddress> {
  if (flags.server !== undefined) return { url: flags.server, token: flags['operator-token'] }
  const directory = join(flags['data-dir'], flags.market)
  const socketPath = await findOwnerSocket(directory)
  if (socketPath !== undefined) return { url: 'http://localhost', socketPath }
  throw new ServiceError('config_invalid', {
    message: `no service runs on ${directory}: start it, or name another (--data-dir, --market, or --server with --operator-token)`,
  })
}

/** An argument that is an id. @throws ServiceError `config_invalid` */
export function requireId(what: string, text: string | undefined): string {
  const id = z.uuid().safeParse(text?.toLowerCase())
  if (id.success) return id.data
  throw new ServiceError('config_invalid', {
    message: `${what} is ${JSON.stringify(text ?? '')}, which is no UUID. For example: 5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55`,
  })
}
