/** The weight of each name in a header of content negotiation (RFC 9110 §12.4.2), in lower case. */
export function weightsIn(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const part of header.split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    const q = Number(parameters.find((text) => text.startsWith('q='))?.slice('q='.length) ?? 1)
    if (!weights.has(name)) weights.set(name, Number.isFinite(q) ? q : 0)
  }
  return weights
}

/** The weight that an `Accept` header gives a media type (RFC 9110 §12.5.1): the most specific range decides. */
function weightOf(accept: string, type: string): number {
  const weights = weightsIn(accept)
  const range = [type, `${type.split('/')[0]}/*`, '*/*'].find((one) => weights.has(one))
  return range === undefined ? 0 : (weights.get(range) ?? 0)
}

/**
 * Whether a caller would rather have a page than JSON, as browsers say. Without a preference it is JSON.
 *
 * @example acceptsHtmlFirst('text/html,*\/*;q=0.8') && !acceptsHtmlFirst('*\/*')
 */
export const acceptsHtmlFirst = (accept: string | undefined): boolean =>
  accept !== undefined && weightOf(accept, 'text/html') > weightOf(accept, 'application/json')

/** As the official clients of MCP send it. */
const USUAL = 'application/json, text/event-stream'

/**
 * Whether an `Accept` header admits JSON. Clients of MCP name both JSON and event streams; every other caller who would
 * take JSON is served as well.
 *
 * @example acceptsJson('text/html, application/*;q=0.5') && !acceptsJson('text/event-stream')
 */
export const acceptsJson = (accept: string | undefined): boolean =>
  accept === undefined || accept === USUAL || weightOf(accept, 'application/json') > 0
