import { type VerdictRow, verdictRow } from '../../contracts/answers/verdict-row.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { comparePositions, isPosition, type Position } from '../../contracts/infra/position.ts'
import type { EventStore } from '../log/event-store.ts'
import { createCounterparts, type SeriesEvent, type SeriesEventType } from './series-events.ts'

/** A verdict with its outcome, as a row. */
export interface ShownRow {
  readonly row: VerdictRow
  /** Position of the verdict in the log, and not of its outcome. */
  readonly position: Position
}

/** The cursor of a replay, as callers have it: a column of bare numbers would not be read as text. */
export const cursorAt = (position: Position): string => `p${position}`

/** Inverse of {@link cursorAt}, also for a bare position; undefined for text that is no cursor. */
export function positionOfCursor(text: string): Position | undefined {
  const position = text.replace(/^p/, '')
  return isPosition(position) ? position : undefined
}

/**
 * Which events rows come from, in their order: outcomes, since a verdict is shown to everybody once its outcome is in the
 * log; or verdicts, for those who see open windows, with an outcome where there is one.
 */
export const rowEventType = (withOpen: boolean): SeriesEventType =>
  withOpen ? 'VerdictRecorded' : 'OutcomeLabelled'

/**
 * Makes the rows of events: of an outcome with its verdict, or of a verdict with its outcome, if there is one.
 *
 * @param upTo an outcome that was appended later is left out; without it the log goes on
 */
export function createRowMaker(
  log: Pick<EventStore, 'read'>,
  { upTo, signal }: { readonly upTo?: Position | Date | undefined; readonly signal: AbortSignal },
): (event: SeriesEvent) => Promise<ShownRow> {
  const isPast = ({ position, at }: SeriesEvent): boolean =>
    upTo instanceof Date ? at > upTo.toISOString() : comparePositions(position, upTo ?? position) > 0
  const range = { signal, ...(upTo !== undefined && { isPast }) }
  const verdicts = createCounterparts(log, 'VerdictRecorded', range)
  const outcomes = createCounterparts(log, 'OutcomeLabelled', range)

  return async (event) => {
    const outcome = isOfType(event, 'OutcomeLabelled') ? event : await outcomes.of(event.data)
    const verdict = isOfType(event, 'VerdictRecorded') ? event : await verdicts.of(event.data)
    if (verdict === undefined) {
      throw new ServiceError('event_unreadable', {
        message: `The outcome at position ${event.position} has no verdict in the log.`,
      })
    }
    const row = verdictRow(verdict.data, cursorAt(event.position), verdict.at, outcome?.data ?? null)
    return { row, position: verdict.position }
  }
}

const isOfType = <Type extends SeriesEventType>(event: SeriesEvent, type: Type): event is SeriesEvent<Type> =>
  event.type === type
