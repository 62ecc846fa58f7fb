import type { FastifyReply, FastifyRequest } from 'fastify'
import { ServiceError } from '../../../contracts/errors.ts'

/** A session is a key, in a cookie that scripts cannot read and only this host is sent. */
const COOKIE = '__Host-session'
const DAYS = 30

/** What a browser session's key is called in the list of keys. */
export const SESSION_LABEL = 'browser session'

/** The key of the session that a request belongs to; undefined without one. */
export function sessionKey({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined {
  return cookieOf(headers.cookie, COOKIE)
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

export const beginSession = (reply: FastifyReply, key: string): FastifyReply =>
  reply.header('set-cookie', cookie(COOKIE, key, DAYS * 86_400))
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
