import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isServiceError, ServiceError } from '../../contracts/errors/errors.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import { addressOf } from '../http/client-address.ts'
import { address, type Parameters } from './components.ts'
import type { Refusal } from './forms.ts'
import { sessionOf } from './session.ts'

export type PageAnswer<Body> =
  | { readonly isOk: true; readonly body: Body }
  | { readonly isOk: false; readonly refusal: Refusal }

export interface PageRequest {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: object
  readonly idempotencyKey?: string
}

/** Holds what only this process knows, so that nobody else asks as the pages do. */
const PROOF_HEADER = 'x-own-request'

/** Whether a request was made by a page. */
export const isPageRequest = ({ headers }: Pick<FastifyRequest, 'headers'>, proof: string): boolean =>
  headers[PROOF_HEADER] === proof

/** Whether nobody is signed in any more. */
export const isSessionOver = (error: unknown): boolean =>
  isServiceError(error, 'unauthorized') || isServiceError(error, 'key_unknown')

export type PageClient = ReturnType<typeof createPageClient>

/**
 * Makes the client with which pages ask the HTTP interface of this process, under the session and address of their
 * visitor: a page can do what any program can, and nothing is decided twice.
 *
 * @param proof a secret that goes along with a session, for {@link isPageRequest}: a session without it is refused
 */
export function createPageClient(app: FastifyInstance, proof: string) {
  /** @throws ServiceError `unauthorized`, `key_unknown` if the session is over */
  async function ask<Body>(request: FastifyRequest, asked: PageRequest): Promise<PageAnswer<Body>> {
    const { method = 'GET', path, body, idempotencyKey } = asked
    const authorization = sessionOf(request)
    const answer = await app.inject({
      method,
      url: path,
      remoteAddress: addressOf(request),
      headers: {
        host: request.headers.host ?? 'localhost',
        accept: 'application/json',
        ...(authorization !== undefined && { authorization, [PROOF_HEADER]: proof }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      ...(body !== undefined && { payload: body }),
    })
    const content: unknown = answer.body === '' ? {} : answer.json()
    if (answer.statusCode < 400) return { isOk: true, body: content as Body }
    const refusal = { ...(content as Refusal), status: answer.statusCode }
    const error = errorOf(refusal)
    if (isSessionOver(error)) throw error
    return { isOk: false, refusal }
  }

  /** @throws ServiceError for every refusal */
  async function read<Body>(request: FastifyRequest, path: string, query: Parameters = {}): Promise<Body> {
    const answer = await ask<Body>(request, { path: address(path, query) })
    if (answer.isOk) return answer.body
    throw errorOf(answer.refusal)
  }

  return { ask, read }
}

/** A refusal of the interface as the error that it was. */
export const errorOf = ({ code, message, next_step: nextStep, details }: Refusal): ServiceError =>
  new ServiceError(code as ServiceError['code'], {
    message,
    nextStep,
    ...(details !== undefined && { details: details as unknown as JsonObject }),
    isForCallers: true,
  })
