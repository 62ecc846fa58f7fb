import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { sessionKey } from './session.ts'

/** What the HTTP interface refused, as it said it. */
export interface Refusal {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly next_step: string
  readonly details?: { readonly fields?: readonly { readonly field: string; readonly problem: string }[] }
}

export type OwnAnswer<Body> =
  | { readonly isOk: true; readonly body: Body }
  | { readonly isOk: false; readonly refusal: Refusal }

export interface OwnRequest {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: JsonObject
}

/**
 * Asks the HTTP interface of this process on behalf of a visitor, with the key of the session: so a page can do what
 * any program can, is refused what any program is refused, and nothing is decided twice.
 */
export interface OwnClient {
  ask<Body>(request: FastifyRequest, asked: OwnRequest): Promise<OwnAnswer<Body>>
  /** @throws ServiceError what was refused */
  must<Body>(request: FastifyRequest, asked: OwnRequest): Promise<Body>
}

export function createOwnClient(
  app: FastifyInstance,
  addressOf: (request: FastifyRequest) => string,
): OwnClient {
  async function answerOf(
    request: FastifyRequest,
    { method = 'GET', path, body }: OwnRequest,
  ): Promise<OwnAnswer<unknown>> {
    const key = sessionKey(request)
    const answer = await app.inject({
      method,
      url: path,
      remoteAddress: addressOf(request),
      headers: {
        host: request.headers.host ?? 'localhost',
        accept: 'application/json',
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { payload: JSON.stringify(body) }),
    })
    const told: unknown = answer.body === '' ? {} : answer.json()
    if (answer.statusCode < 400) return { isOk: true, body: told }
    return {
      isOk: false,
      refusal: { ...(told as Omit<Refusal, 'status'>), status: answer.statusCode },
    } as const
  }
  const ask = answerOf as OwnClient['ask']
  return {
    ask,
    async must<Body>(request: FastifyRequest, asked: OwnRequest) {
      const answer = await ask<Body>(request, asked)
      if (answer.isOk) return answer.body
      throw refusedAs(answer.refusal)
    },
  }
}

/** A refusal of the interface as the error that it was. */
export const refusedAs = ({ code, message, next_step: nextStep, details }: Refusal): ServiceError =>
  new ServiceError(code as ServiceError['code'], {
    message,
    nextStep,
    ...(details !== undefined && { details: details as unknown as JsonObject }),
    isForCallers: true,
  })
