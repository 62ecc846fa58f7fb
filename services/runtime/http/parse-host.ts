import { isIP } from 'node:net'

/** A host as addresses of webhooks have it: in lower case, IPv6 without brackets; undefined for what is none. */
export function parseHost(text: string): string | undefined {
  const authority = isIP(text) === 6 ? `[${text}]` : text
  if (!/^[^/?#@\\\s]+$/.test(authority) || !URL.canParse(`https://${authority}/`)) return undefined
  const { port, hostname } = new URL(`https://${authority}/`)
  return port === '' ? hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '') : undefined
}
