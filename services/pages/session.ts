import type { FastifyReply, FastifyRequest } from 'fastify'
import { ServiceError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'

/** The secret of a session lies in a cookie that scripts cannot read and only this host is sent. */
const COOKIE = '__Host-session'

/** The credential that the pages send for the session of a request; undefined without a session. */
export function sessionOf({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined {
  for (const part of (headers.cookie ?? '').split(';')) {
    const [name, secret] = part.trim().split('=', 2)
    if (name === COOKIE && secret !== undefined && /^[!-~]{1,512}$/.test(secret)) return `Session ${secret}`
  }
  return undefined
}

const cookie = (value: string, seconds: number): string =>
  `${COOKIE}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; Secure; SameSite=Lax`

export const beginSession = (reply: FastifyReply, secret: string): FastifyReply =>
  reply.header('set-cookie', cookie(secret, LIMITS.sessionMs / 1_000))
export const endSession = (reply: FastifyReply): FastifyReply => reply.header('set-cookie', cookie('', 0))

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
