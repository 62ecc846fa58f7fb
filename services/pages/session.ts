import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Typed } from './forms.ts'

type Request = Pick<FastifyRequest, 'headers'>

/** Cookies that scripts cannot read and only this host is sent: the session, and a note for the next page. */
const [SESSION, NOTE] = ['__Host-session', '__Host-note'] as const
const NOTE_MS = 60_000

const cookieOf = ({ headers }: Request, name: string): string =>
  new RegExp(`(?:^|; *)${name}=([^;]*)`).exec(headers.cookie ?? '')?.[1] ?? ''

const setCookie = (reply: FastifyReply, name: string, value: string, ms: number): FastifyReply =>
  reply.header(
    'set-cookie',
    `${name}=${value}; Path=/; Max-Age=${ms / 1_000}; HttpOnly; Secure; SameSite=Lax`,
  )

/** The credential that the pages send for the session of a request; undefined without a session. */
export function sessionOf(request: Request): string | undefined {
  const secret = cookieOf(request, SESSION)
  return /^[!-~]{1,512}$/.test(secret) ? `Session ${secret}` : undefined
}

export const beginSession = (reply: FastifyReply, secret: string): FastifyReply =>
  setCookie(reply, SESSION, secret, LIMITS.sessionMs)
export const endSession = (reply: FastifyReply): FastifyReply => setCookie(reply, SESSION, '', 0)

/** Leaves a note, which the next page of the same browser shows once. */
export const leaveNote = (reply: FastifyReply, note: object, ms = NOTE_MS): FastifyReply =>
  setCookie(reply, NOTE, Buffer.from(JSON.stringify(note)).toString('base64url'), ms)
export const removeNote = (reply: FastifyReply): FastifyReply => setCookie(reply, NOTE, '', 0)

/** The note of a browser, if there is one of this form. @param reply removes it, given once nothing can fail */
export function noteOf<Note>(request: Request, schema: z.ZodType<Note>, reply?: FastifyReply) {
  try {
    const note = schema.parse(JSON.parse(Buffer.from(cookieOf(request, NOTE), 'base64url').toString()))
    if (reply !== undefined) removeNote(reply)
    return note
  } catch {
    return undefined
  }
}

/**
 * The fields of a form that a page of this service has sent. Browsers say where a form comes from; a request that says
 * nothing counts as another site's.
 *
 * @param publicUrl under which callers reach the service, even if a proxy changes the `Host`
 * @throws ServiceError `cross_site`
 */
export function ownForm({ headers, body }: FastifyRequest, publicUrl: string): Typed {
  const { origin, host } = headers
  const isOwn =
    origin === undefined
      ? headers['sec-fetch-site'] === 'same-origin'
      : (URL.parse(origin)?.host ?? false) === host || URL.parse(publicUrl)?.origin === origin
  if (!isOwn) throw new ServiceError('cross_site')
  return typeof body === 'object' && body !== null ? (body as Typed) : {}
}
