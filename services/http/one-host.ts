import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../../contracts/errors.ts'

/**
 * Refuses a request for no host or for several: a program in front may read the other one (RFC 9112 §3.2).
 *
 * @throws ServiceError `invalid_request`
 */
export function requireOneHost({ rawHeaders, httpVersion }: IncomingMessage): void {
  const hosts = valuesOf(rawHeaders, 'host')
  const isOne = hosts.length === 1 && hosts[0]?.trim() !== ''
  if (isOne || (hosts.length === 0 && httpVersion === '1.0')) return
  const what = ['no Host header', 'an empty Host header'][hosts.length] ?? `${hosts.length} Host headers`
  throw new ServiceError('invalid_request', { message: `The request has ${what}.` })
}

/**
 * Every value of a header. Of several lines of one name Node keeps the first, and says nothing.
 *
 * @param rawHeaders names and values in turn
 * @param name in lower case
 */
export function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? '')
  return values
}
