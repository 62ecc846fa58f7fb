import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'

/** The secret of a session lies in a cookie that scripts cannot read and only this host is sent. */
const COOKIE = '__Host-session'

type Request = Pick<FastifyRequest, 'headers'>

function cookieOf({ headers }: Request, wanted: string): string | undefined {
  for (const part of (headers.cookie ?? '').split(';')) {
    const [name, value] = part.trim().split('=', 2)
    if (name === wanted) return value
  }
  return undefined
}

const setCookie = (reply: FastifyReply, name: string, value: string, ms: number): FastifyReply =>
  reply.header(
    'set-cookie',
    `${name}=${value}; Path=/; Max-Age=${ms / 1_000}; HttpOnly; Secure; SameSite=Lax`,
  )

/** The credential that the pages send for the session of a request; undefined without a session. */
export function sessionOf(request: Request): string | undefined {
  const secret = cookieOf(request, COOKIE)
  return secret !== undefined && /^[!-~]{1,512}$/.test(secret) ? `Session ${secret}` : undefined
}

export const beginSession = (reply: FastifyReply, secret: string): FastifyReply =>
  setCookie(reply, COOKIE, secret, LIMITS.sessionMs)
export const endSession = (reply: FastifyReply): FastifyReply => setCookie(reply, COOKIE, '', 0)

/** A note is shown once by the next page of the same browser, to which the answer of a form leads. */
const NOTE = '__Host-note'
const NOTE_MS = 60_000

/** Leaves a note. @param forMs how long it is kept */
export const leaveNote = (reply: FastifyReply, note: object, forMs = NOTE_MS): FastifyReply =>
  setCookie(reply, NOTE, Buffer.from(JSON.stringify(note)).toString('base64url'), forMs)
export const removeNote = (reply: FastifyReply): FastifyReply => setCookie(reply, NOTE, '', 0)

/** The note of a browser; undefined where there is none of this form. */
export function noteOf<Note>(request: Request, schema: z.ZodType<Note>): Note | undefined {
  const text = Buffer.from(cookieOf(request, NOTE) ?? '', 'base64url').toString()
  const result = schema.safeParse(tryJson(text))
  return result.success ? result.data : undefined
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

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
