/** Texts of the newest times: rows of a replay share theirs, and to make them anew takes a twelfth of a row. */
const texts = new Map<number, string>()
const MOST_TEXTS = 4_096

/** @example isoTime(1_735_689_600_000) === '2025-01-01T00:00:00.000Z' */
export function isoTime(timeMs: number): string {
  const known = texts.get(timeMs)
  if (known !== undefined) return known
  const text = new Date(timeMs).toISOString()
  if (texts.size >= MOST_TEXTS) texts.clear()
  texts.set(timeMs, text)
  return text
}

/** @example isoDay(1_735_700_000_000) === '2025-01-01' */
export const isoDay = (timeMs: number): string => isoTime(timeMs).slice(0, -'T00:00:00.000Z'.length)
