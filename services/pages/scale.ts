/** Maps values of a range to a stretch of the picture, in its units, rounded to a tenth. */
export const scale =
  ([from, to]: readonly [number, number], [left, right]: readonly [number, number]) =>
  (value: number): number => {
    const share = to === from ? 0.5 : (value - from) / (to - from)
    return Math.round(10 * (left + share * (right - left))) / 10
  }

const STEPS = [1, 2, 2.5, 5, 10] as const

/**
 * Round values within a range for the marks of an axis, about as many as asked for.
 *
 * @example ticks([0, 1], 4) // [0, 0.25, 0.5, 0.75, 1]
 */
export function ticks([from, to]: readonly [number, number], count: number): number[] {
  if (!(to > from) || count < 1) return [from]
  const rough = (to - from) / count
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = (STEPS.find((one) => one * power >= rough) ?? 10) * power
  const first = Math.ceil(from / step - 1e-9)
  const last = Math.floor(to / step + 1e-9)
  return Array.from({ length: last - first + 1 }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  )
}

/** A range that holds all of some values, with a margin on both sides. */
export function rangeOf(values: readonly number[], margin = 0.05): readonly [number, number] {
  const least = values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
  const most = values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
  if (least > most) return [0, 1]
  const room = (most - least || Math.abs(most) || 1) * margin
  return [least - room, most + room]
}

/** A place in a picture, to a tenth. */
export const rounded = (value: number): number => Math.round(10 * value) / 10
