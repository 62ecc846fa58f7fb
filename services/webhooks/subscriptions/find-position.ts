import { instantFault, isInstant } from '../../../contracts/answers/parameters.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { RecordedEvent } from '../../../contracts/infra/event.ts'
import { comparePositions, isPosition, type Position, START } from '../../../contracts/infra/position.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { EventStore } from '../../log/event-store.ts'

type Log = Pick<EventStore, 'readAll' | 'head'>

async function firstAfter(store: Log, after: Position): Promise<RecordedEvent | undefined> {
  for await (const event of store.readAll({ after, limit: 1 })) return event
  return undefined
}

const isBefore = (event: RecordedEvent | undefined, instant: number): boolean =>
  event !== undefined && Date.parse(event.at) < instant

/**
 * The position after which the log has the events of an instant and later. Where positions are dense numbers it is found
 * by halving; elsewhere the log is read up to there, and no further than `LIMITS.webhookPastEvents`.
 *
 * @param instant Unix milliseconds of wall time
 * @returns undefined where the instant lies further into the log than that
 */
export async function positionBefore(store: Log, instant: number): Promise<Position | undefined> {
  const head = await store.head()
  if (head === START || !isBefore(await firstAfter(store, START), instant)) return START
  if (head.includes('/')) {
    let [position, events]: [Position, number] = [START, 0]
    const limit = LIMITS.webhookPastEvents + 1
    for await (const event of store.readAll({ upTo: new Date(instant - 1), limit })) {
      position = event.position
      events += 1
    }
    return events === limit ? undefined : position
  }
  let [low, high] = [0n, BigInt(head)]
  while (high - low > 1n) {
    const middle = (low + high) / 2n
    // The event after the middle tells on which side of the instant it is; after the head comes nothing.
    if (isBefore(await firstAfter(store, String(middle)), instant)) low = middle
    else high = middle
  }
  return isBefore(await firstAfter(store, String(low)), instant) ? String(high) : String(low)
}

/**
 * The position that a caller means by `now`, a position, or an instant of ISO 8601; at most
 * `LIMITS.webhookPastMs` back.
 *
 * @param field named in refusals
 * @throws ServiceError `invalid_request`
 * @example await resolveStart(store, 'start', '2026-11-20T00:00:00Z', Date.now())
 */
export async function resolveStart(store: Log, field: string, text: string, now: number): Promise<Position> {
  const refusedError = (problem: string): ServiceError =>
    new ServiceError('invalid_request', {
      message: `${field}: ${problem}`,
      details: { fields: [{ field, problem }] },
    })
  const oldest = now - LIMITS.webhookPastMs
  const tooOld = `${text} is further back than ${LIMITS.webhookPastMs / 86_400_000} days, which is as far as goes`
  if (text === 'now') return store.head()
  const position = isPosition(text) ? text : undefined
  if (position !== undefined) {
    const head = await store.head()
    const isOfOtherKind = position.includes('/') !== head.includes('/')
    if (isOfOtherKind && position !== START && head !== START) {
      throw refusedError(`${position} is not a position of this log`)
    }
    if (comparePositions(position, head) > 0) {
      throw refusedError(`${position} lies ahead of the log, which ends at ${head}`)
    }
    if (isBefore(await firstAfter(store, position), oldest)) throw refusedError(tooOld)
    return position
  }
  const instant = isInstant(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(instant))
    throw refusedError(instantFault(text, `${text} is neither "now" nor a position nor an ISO 8601 instant`))
  if (instant < oldest) throw refusedError(tooOld)
  if (instant > now) throw refusedError(`${text} lies in the future`)
  const found = await positionBefore(store, instant)
  if (found === undefined)
    throw refusedError(
      `${text} lies more than ${LIMITS.webhookPastEvents} events into the log, which its store reads one by one; give a position, as \`cursor\` of a subscription has it`,
    )
  return found
}
