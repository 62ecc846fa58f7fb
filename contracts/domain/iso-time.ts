/** @example isoTime(1_735_689_600_000) === '2025-01-01T00:00:00.000Z' */
export const isoTime = (timeMs: number): string => new Date(timeMs).toISOString()

/** @example isoDay(1_735_700_000_000) === '2025-01-01' */
export const isoDay = (timeMs: number): string => isoTime(timeMs).slice(0, -'T00:00:00.000Z'.length)
