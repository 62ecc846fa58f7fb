import { comparePositions, isPosition, type Position, START } from '../../contracts/position.ts'

/**
 * The point at which a replay continues. Rows come in the order of the log, but a verdict is shown only once its window
 * has closed, so an old one can become visible before rows that were already sent. A cursor therefore stores how far
 * the log was read and as of which time, and how far a second pass over the same stretch came.
 */
export interface ReplayCursor {
  /** Up to here, inclusive, every matching verdict was shown. */
  readonly complete: Position
  /** Up to here, inclusive, those were shown whose window had closed at `asOf`. */
  readonly looked: Position
  /** Market time of that look, Unix milliseconds. */
  readonly asOf: number
  /** The look under way: up to `at`, those were shown whose window had closed at its own `asOf`. */
  readonly second?: { readonly at: Position; readonly asOf: number }
}

export const AT_START: ReplayCursor = { complete: START, looked: START, asOf: 0 }

const CURSOR = /^([^~]+)(?:~([^~]+)~(\d{1,15})(?:~([^~]+)~(\d{1,15}))?)?$/

/** Text for callers, of one form whether or not something was withheld: a column of bare positions reads as numbers. */
export function formatCursor({ complete, looked, asOf, second }: ReplayCursor): string {
  if (second !== undefined) return `${looked}~${complete}~${asOf}~${second.at}~${second.asOf}`
  return `${looked}~${complete}~${complete === looked ? 0 : asOf}`
}

/** Inverse of {@link formatCursor}, also for a bare position; undefined for text that is no cursor. */
export function parseCursor(text: string): ReplayCursor | undefined {
  const [, looked, complete = looked, asOf = '0', at, secondAsOf] = CURSOR.exec(text) ?? []
  if (looked === undefined || complete === undefined || !isPosition(looked) || !isPosition(complete))
    return undefined
  if (comparePositions(complete, looked) > 0) return undefined
  const cursor = { complete, looked, asOf: Number(asOf) }
  if (at === undefined) return cursor
  return isPosition(at) ? { ...cursor, second: { at, asOf: Number(secondAsOf) } } : undefined
}

export interface ReplayLook {
  /** Reading begins after this position. */
  readonly readAfter: Position
  /** Takes every matching verdict in log order. @returns the cursor after it if it is shown now, else undefined */
  offer(position: Position, validUntil: number): ReplayCursor | undefined
  /**
   * Whether the pass has to end before the verdict offered last: the process that wrote the cursor had a clock ahead of
   * this one, and a later cursor could not say whether that verdict was shown.
   */
  isHeldUp(): boolean
  /** The cursor after a position up to which all verdicts were offered and none shown. */
  passed(position: Position): ReplayCursor
  /** The cursor after all offered verdicts. */
  end(): ReplayCursor
}

/**
 * One look through the log: shows each verdict whose window has closed and that earlier looks have not
 * shown. A look that was cut short (`from.second`) goes on as of the time it began, so that nothing is lost
 * or repeated; a further look from its end brings what has closed since.
 *
 * @param now market time, Unix milliseconds; Infinity shows everything. A cursor never shows more than it.
 */
export function createLook(from: ReplayCursor, now: number): ReplayLook {
  // Never earlier than the cursor's own: of what that showed, a later look could not tell.
  const asOf = from.second?.asOf ?? Math.max(now, from.asOf)
  let { complete, looked } = from
  let hasWithheld = false
  let isHeldUp = false

  const wasShown = (position: Position, validUntil: number): boolean => {
    if (from.second !== undefined && comparePositions(position, from.second.at) <= 0) return true
    return comparePositions(position, from.looked) <= 0 && validUntil <= from.asOf
  }

  function cursorBehind(position: Position): ReplayCursor {
    if (comparePositions(position, from.looked) > 0) return { complete, looked: position, asOf }
    const second = complete === position ? {} : { second: { at: position, asOf } }
    return { complete, looked: from.looked, asOf: from.asOf, ...second }
  }

  return {
    readAfter: from.complete,
    offer(position, validUntil) {
      const isKnown = wasShown(position, validUntil)
      isHeldUp ||= !isKnown && validUntil > now && validUntil <= asOf
      if (isHeldUp) return undefined
      if (comparePositions(position, looked) > 0) looked = position
      if (validUntil > asOf) {
        hasWithheld = true
        return undefined
      }
      if (!hasWithheld) complete = position
      return isKnown ? undefined : cursorBehind(position)
    },
    isHeldUp: () => isHeldUp,
    passed(position) {
      if (!hasWithheld) complete = position
      return cursorBehind(position)
    },
    end: () => ({ complete, looked, asOf }),
  }
}
