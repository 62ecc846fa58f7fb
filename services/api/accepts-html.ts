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
