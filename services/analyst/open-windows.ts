import { comparePositions, type Position } from '../../contracts/position.ts'

/** A stretch of the log: after `after`, up to `upTo` inclusive. */
export interface Stretch {
  readonly after: Position
  readonly upTo: Position
}

/** The places of verdicts that are withheld until their window closes. */
export type OpenWindows = ReturnType<typeof createOpenWindows>

/** Verdicts that may lie between two of a stretch: reading past them costs less than another read. */
const GAP_VERDICTS = 2_000

interface OpenStretch extends Stretch {
  upTo: Position
  /** How many verdicts had been noted when it grew last. */
  grownAt: number
}

/**
 * Remembers where withheld verdicts stand in the log, as stretches by the close of their windows, and gives back the
 * stretches that closed, to be read again. Stretches, since a verdict of every series would be too many to hold.
 */
export function createOpenWindows() {
  const byEnd = new Map<number, OpenStretch[]>()
  let noted = 0
  return {
    /** Notes a withheld verdict; verdicts are to be noted in the order of the log. */
    add(previous: Position, position: Position, validUntil: number): void {
      noted += 1
      const stretches = byEnd.get(validUntil)
      const last = stretches?.at(-1)
      if (last !== undefined && noted - last.grownAt <= GAP_VERDICTS) {
        last.upTo = position
        last.grownAt = noted
        return
      }
      const stretch = { after: previous, upTo: position, grownAt: noted }
      if (stretches === undefined) byEnd.set(validUntil, [stretch])
      else stretches.push(stretch)
    },

    /** Takes out what has closed by an instant: stretches in the order of the log that do not overlap. */
    takeDue(asOf: number): Stretch[] {
      const due: OpenStretch[] = []
      for (const [validUntil, stretches] of byEnd) {
        if (validUntil > asOf) continue
        due.push(...stretches)
        byEnd.delete(validUntil)
      }
      return merged(due)
    },

    /** Up to here, inclusive, nothing is withheld; undefined where nothing is at all. */
    floor(): Position | undefined {
      let lowest: Position | undefined
      for (const stretches of byEnd.values()) {
        const first = stretches[0]?.after
        if (first !== undefined && (lowest === undefined || comparePositions(first, lowest) < 0))
          lowest = first
      }
      return lowest
    },
  }
}

function merged(stretches: readonly Stretch[]): Stretch[] {
  const result: { after: Position; upTo: Position }[] = []
  for (const { after, upTo } of stretches.toSorted((a, b) => comparePositions(a.after, b.after))) {
    const last = result.at(-1)
    if (last === undefined || comparePositions(after, last.upTo) > 0) result.push({ after, upTo })
    else if (comparePositions(upTo, last.upTo) > 0) last.upTo = upTo
  }
  return result
}
