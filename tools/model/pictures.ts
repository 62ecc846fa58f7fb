import type { Measure } from './statistics.ts'
import type { Coverage, ReliabilityBin } from './tables.ts'

const WIDTH = 720
const HEIGHT = 300
const LEFT = 50
const BOTTOM = 260
const TOP = 20

/** A picture of points with whiskers, over a dashed line of what was expected. */
function picture(
  title: string,
  columns: readonly { readonly label: string; readonly expected: number; readonly measure: Measure }[],
  [lowest, highest]: readonly [number, number],
): string {
  const x = (index: number): number => LEFT + ((index + 0.5) * (WIDTH - LEFT)) / columns.length
  const y = (value: number): number =>
    BOTTOM - ((Math.max(lowest, Math.min(highest, value)) - lowest) / (highest - lowest)) * (BOTTOM - TOP)
  const round = (value: number): string => value.toFixed(1)
  const ticks = Array.from({ length: 6 }, (_, index) => lowest + ((highest - lowest) * index) / 5)
  const points = columns.map(({ label, expected, measure }, index) => {
    const at = round(x(index))
    return `<path d="M${at} ${round(y(measure.low))}V${round(y(measure.high))}" stroke="#1f6feb" stroke-width="2"/><circle cx="${at}" cy="${round(y(measure.value))}" r="4" fill="#1f6feb"/><path d="M${round(x(index) - 14)} ${round(y(expected))}h28" stroke="#c9510c" stroke-width="2" stroke-dasharray="4 3"/><text x="${at}" y="${BOTTOM + 20}" text-anchor="middle">${label}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="13" fill="#57606a"><title>${title}</title><rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
${ticks.map((tick) => `<path d="M${LEFT} ${round(y(tick))}H${WIDTH}" stroke="#d0d7de"/><text x="${LEFT - 6}" y="${round(y(tick) + 4)}" text-anchor="end">${(100 * tick).toFixed(0)} %</text>`).join('\n')}
${points.join('\n')}
<text x="${LEFT}" y="14">${title}</text></svg>
`
}

/** Said beside happened, of windows that no weight was fitted on. */
export const reliabilityPicture = (bins: readonly (ReliabilityBin | undefined)[]): string =>
  picture(
    'Which barrier comes first: said (dashed) and happened, 95 % intervals',
    bins.flatMap((bin) =>
      bin === undefined
        ? []
        : { label: `${(100 * bin.said).toFixed(1)} %`, expected: bin.said, measure: bin.won },
    ),
    [0.48, 0.63],
  )

/** Windows that ended within their range, by timeframe. */
export const coveragePicture = (found: readonly Coverage[]): string =>
  picture(
    'Windows that ended within p10–p90, untouched half year; expected (dashed), 95 % intervals',
    found.map(({ timeframe, of80 }) => ({ label: timeframe, expected: 0.8, measure: of80 })),
    [0.7, 0.95],
  )
