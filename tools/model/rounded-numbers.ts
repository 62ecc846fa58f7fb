const DIGITS = 6

/**
 * The same data with every number that is not whole rounded to six significant digits, so that a file says no
 * more than was measured, and reads the same wherever it was made.
 *
 * @example roundedNumbers({ share: 1 / 3, bars: 1_234_567 }) // { share: 0.333333, bars: 1234567 }
 */
export function roundedNumbers<Data>(data: Data): Data {
  return JSON.parse(
    JSON.stringify(data, (_, value: unknown) =>
      typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(DIGITS)) : value,
    ),
  ) as Data
}
