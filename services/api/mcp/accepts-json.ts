/** The ranges that take in JSON, the most specific first. */
const RANGES = ['application/json', 'application/*', '*/*']

/**
 * Whether an `Accept` header admits JSON (RFC 9110 §12.5.1): the most specific range decides. Clients of MCP
 * name both JSON and event streams; every other caller who would take JSON is served as well.
 *
 * @example acceptsJson('text/html, application/*;q=0.5') && !acceptsJson('text/event-stream')
 */
export function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept === '*/*' || accept === USUAL) return true
  const parts = accept.toLowerCase().split(',')
  for (const range of RANGES) {
    const part = parts.find((one) => one.split(';', 1)[0]?.trim() === range)
    if (part !== undefined) return !/;\s*q=0(?:\.0{0,3})?\s*(?:;|$)/.test(part)
  }
  return false
}

/** As the official clients send it. */
const USUAL = 'application/json, text/event-stream'
