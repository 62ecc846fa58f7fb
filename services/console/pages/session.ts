import type { FastifyReply, FastifyRequest } from 'fastify'
import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'

/** The secret of a session lies in a cookie that scripts cannot read and only this host is sent. */
const COOKIE = '__Host-session'

/** The credential that the console sends for the session of a request; undefined without a session. */
export function sessionOf({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined {
  const secret = cookieOf(headers.cookie, COOKIE)
  return secret && `Session ${secret}`
}

export function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const part of (header ?? '').split(';')) {
    const [given, value] = part.trim().split('=', 2)
    if (given === name && value !== undefined && /^[!-~]{1,512}$/.test(value)) return value
  }
  return undefined
}

const cookie = (name: string, value: string, seconds: number): string =>
  `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; Secure; SameSite=Lax`

export const beginSession = (reply: FastifyReply, secret: string): FastifyReply =>
  reply.header('set-cookie', cookie(COOKIE, secret, LIMITS.sessionMs / 1_000))
export const endSession = (reply: FastifyReply): FastifyReply =>
  reply.header('set-cookie', cookie(COOKIE, '', 0))

/** A cookie for something else than a session, for so many seconds; none of them ends it. */
export const setCookie = (reply: FastifyReply, name: string, value: string, seconds: number): FastifyReply =>
  reply.header('set-cookie', cookie(name, value, seconds))

/**
 * Refuses a form that a page of another site has sent. Browsers say where a form comes from; what says nothing is
 * taken for another site's.
 *
 * @param publicUrl under which the service is reached, also where a proxy in front of it changes the `Host`
 * @throws ServiceError `cross_site`
 */
export function requireOwnForm({ headers }: Pick<FastifyRequest, 'headers'>, publicUrl: string): void {
  const { origin, host } = headers
  const isOwn =
    origin === undefined
      ? headers['sec-fetch-site'] === 'same-origin'
      : URL.canParse(origin) &&
        (new URL(origin).host === host || (URL.canParse(publicUrl) && new URL(publicUrl).origin === origin))
  if (!isOwn) throw new ServiceError('cross_site')
}
