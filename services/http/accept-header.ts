/** The weight that an `Accept` header gives a media type (RFC 9110 §12.5.1): the most specific range decides. */
function weightOf(accept: string, type: string): number {
  const ranges = [type, `${type.split('/')[0]}/*`, '*/*']
  let best = { rank: ranges.length, weight: 0 }
  for (const part of accept.split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    const rank = ranges.indexOf(name)
    if (rank === -1 || rank >= best.rank) continue
    const q = parameters.find((text) => text.startsWith('q='))?.slice(2)
    const weight = q === undefined ? 1 : Number(q)
    best = { rank, weight: Number.isFinite(weight) ? weight : 0 }
  }
  return best.weight
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
