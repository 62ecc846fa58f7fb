import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../../contracts/errors.ts'

/**
 * Refuses a request for no host or for several: a program in front may read the other one (RFC 9112 §3.2).
 *
 * @throws ServiceError `invalid_request`
 */
export function requireOneHost({ rawHeaders, headers, httpVersion }: IncomingMessage): void {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]?.toLowerCase() === 'host') hosts += 1
  const isOne = hosts === 1 && headers.host?.trim() !== ''
  if (isOne || (hosts === 0 && httpVersion === '1.0')) return
  const what = hosts > 1 ? `${hosts} Host headers` : hosts === 1 ? 'an empty Host header' : 'no Host header'
  throw new ServiceError('invalid_request', { message: `The request has ${what}.` })
}
