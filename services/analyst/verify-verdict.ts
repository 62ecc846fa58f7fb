import { createHash } from 'node:crypto'
import { recordedAs, recordedNote } from '../../contracts/answers/recorded-as.ts'
import type { ProofEvent, Verification } from '../../contracts/answers/verification.ts'
import { isoTime } from '../../contracts/domain/iso-time.ts'
import { parseSeriesName } from '../../contracts/domain/series.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { decodeEvent, type MarketKind } from '../../contracts/events/event-catalogue.ts'
import { outcomeStream, verdictStream } from '../../contracts/events/streams.ts'
import type { RecordedEvent, Revision } from '../../contracts/infra/event.ts'
import { canonicalJson } from '../../contracts/infra/json.ts'
import { comparePositions, type Position } from '../../contracts/infra/position.ts'
import type { VerdictPlace } from '../../projections/index.ts'
import type { EventStore } from '../log/event-store.ts'
import type { Clock } from '../runtime/async/clock.ts'
import { createCounterparts } from './series-events.ts'

/** The read model that knows where verdicts are. */
export interface VerdictIndex {
  get(verdictId: string): VerdictPlace | undefined
  /** Up to where it holds the log. */
  position(): Position
}

export interface VerifyOptions extends Pick<Clock, 'sleep'> {
  readonly store: EventStore
  readonly index: VerdictIndex
  readonly market: MarketKind
  /** Ends the waiting for the index. */
  readonly signal: AbortSignal
}

export const VERIFICATION_NOTICE =
  'What was recorded, unchanged. It is information, not advice; past outcomes promise nothing.'

/**
 * Reads a verdict from the log: the event as it was recorded, and its outcome once there is one.
 *
 * @throws ServiceError `not_found`; `store_unavailable` and what else the store refuses
 */
export async function verifyVerdict(options: VerifyOptions, verdictId: string): Promise<Verification> {
  const { store } = options
  const place = await findPlace(options, verdictId)
  const series = place === undefined ? undefined : parseSeriesName(place.series)
  if (place === undefined || series === undefined)
    throw new ServiceError('not_found', { message: `There is no recorded verdict ${verdictId}.` })
  const recorded = await eventAt(store, verdictStream(series), place.revision)
  const verdict = recorded === undefined ? undefined : decodeEvent(recorded)
  if (recorded === undefined || verdict?.type !== 'VerdictRecorded' || recorded.id !== verdictId) {
    throw new ServiceError('internal_error', {
      message: `The index has verdict ${verdictId} at revision ${place.revision} of ${place.series}, where the log has another event.`,
    })
  }
  const { barClose, validUntil } = verdict.data
  const { signal } = options
  const labelled = await createCounterparts(store, 'OutcomeLabelled', { signal }).of({ ...series, barClose })
  const outcome = labelled && (await eventAt(store, outcomeStream(series), labelled.revision))
  return {
    verdict_id: verdictId,
    event: proofEvent(recorded),
    hash: eventHash(recorded),
    window_closes_at: isoTime(validUntil),
    recorded_as: recordedAs(verdict.data, recorded.at),
    recorded_note: recordedNote(verdict.data, recorded.at, options.market),
    outcome: outcome === undefined ? null : { event: proofEvent(outcome), hash: eventHash(outcome) },
    notice: VERIFICATION_NOTICE,
  }
}

/**
 * SHA-256 (hex) over what an event says, apart from where and when it was appended: `{data, id, schema, type}`
 * as JSON without spaces, with the keys of every object in order.
 */
export const eventHash = ({ id, type, schema, data }: RecordedEvent): string =>
  createHash('sha256').update(canonicalJson({ id, type, schema, data })).digest('hex')

const proofEvent = (event: RecordedEvent): ProofEvent => {
  const { id, type, schema, stream, revision, position, at, data } = event
  return { id, type, schema, stream, revision, position, at, data: data as ProofEvent['data'] }
}

/** An answer's `verify_url` must open at once, and the index is a moment behind the log. */
const CATCH_UP_MS = 2_000
const LOOK_EVERY_MS = 20

async function findPlace(
  { store, index, sleep, signal }: VerifyOptions,
  verdictId: string,
): Promise<VerdictPlace | undefined> {
  const known = index.get(verdictId)
  if (known !== undefined) return known
  const head = await store.head()
  for (let waited = 0; ; waited += LOOK_EVERY_MS) {
    // Asked for before the place is looked for: what the index held by then is in it.
    const isCaughtUp = comparePositions(index.position(), head) >= 0
    const place = index.get(verdictId)
    if (place !== undefined || isCaughtUp || waited >= CATCH_UP_MS || signal.aborted) return place
    await sleep(LOOK_EVERY_MS, signal)
  }
}

async function eventAt(
  store: EventStore,
  stream: string,
  revision: Revision,
): Promise<RecordedEvent | undefined> {
  for await (const event of store.read(stream, { from: revision, limit: 1 })) return event
  return undefined
}
