/** A number as venues send it: as such, or as text so that no digit is lost on the way. */
export type VenueNumber = number | string

/**
 * The number that a venue sent; NaN for what is none. Empty text is not a zero.
 *
 * @example readVenueNumber('62440.14') === 62440.14
 */
export function readVenueNumber(value: VenueNumber): number {
  if (typeof value === 'number') return value
  return value.trim() === '' ? Number.NaN : Number(value)
}
