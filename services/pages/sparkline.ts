import { type Html, html } from './html.ts'
import { rangeOf, scale } from './scale.ts'

const [WIDTH, HEIGHT] = [96, 28] as const

/** The closes of a series as a line for a row of a table. @param prices oldest first */
export function sparkline(prices: readonly number[]): Html {
  if (prices.length === 0) return html``
  const x = scale([0, Math.max(1, prices.length - 1)], [1, WIDTH - 1])
  const y = scale(rangeOf(prices), [HEIGHT - 1, 1])
  const tone = (prices.at(-1) ?? 0) >= (prices[0] ?? 0) ? 'c2' : 'c3'
  const points = prices.map((value, index) => `${x(index)},${y(value)}`).join(' ')
  return html`<svg class="spark" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" aria-hidden="true"><polyline class="line ${tone}" points="${points}"/></svg>`
}
