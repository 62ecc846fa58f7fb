import { hash } from 'node:crypto'

/** A strong validator of an answer's bytes (RFC 9110 §8.8.3). @example etagOf('{}') // '"…27 characters…"' */
export const etagOf = (body: string): string => `"${hash('sha256', body, 'base64url').slice(0, 27)}"`

/** Whether an `If-None-Match` header names a validator (RFC 9110 §13.1.2), weak or strong, or any. */
export const isNoneMatch = (header: string | undefined, etag: string): boolean =>
  header !== undefined &&
  (header.trim() === '*' ||
    header
      .split(',')
      .map((one) => one.trim().replace(/^W\//, ''))
      .includes(etag))
