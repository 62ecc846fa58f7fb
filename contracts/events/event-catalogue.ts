import { z } from 'zod'
import { outcomeSchema } from '../domain/outcome.ts'
import { universeSchema } from '../domain/series.ts'
import { verdictSchema } from '../domain/verdict.ts'
import { ServiceError } from '../errors/errors.ts'
import type { EventPlace, NewEvent, RecordedEvent } from '../infra/event.ts'
import { timeMs } from '../infra/field-schemas.ts'
import * as accountEvents from './account-events.ts'
import * as deliveryEvents from './delivery-events.ts'
import {
  defineEvent,
  type EventDefinition,
  type EventOf,
  newEvent,
  requireKnownSchema,
  upcast,
} from './event-definition.ts'
import * as leaseEvents from './lease-events.ts'
import * as oauthEvents from './oauth-events.ts'
import * as paymentEvents from './payment-events.ts'
import * as proofEvents from './proof-events.ts'
import * as quotaEvents from './quota-events.ts'
import * as scanEvents from './scan-events.ts'
import * as subscriptionEvents from './subscription-events.ts'

export const MARKET_KINDS = ['simulated', 'recorded', 'live'] as const
export type MarketKind = (typeof MARKET_KINDS)[number]
export const marketKindSchema = z
  .enum(MARKET_KINDS)
  .describe('simulated: its prices are made up; recorded: replayed from files; live')

/** The release whose schemas the events of a log have; releases that keep them keep it. */
export const LOG_RELEASE = '0.3'

export const LogBegun = defineEvent('LogBegun', 'store-identity', {
  summary: 'The first event of a log: its release, market and secret fingerprint; others cannot open it.',
  data: z.object({
    release: z.string().max(16),
    market: z.enum(MARKET_KINDS),
    /** Seed of a simulated market: another seed is another market. */
    seed: z.string().max(64).nullable(),
    /** HMAC of a fixed text under the store secret; tells whether a key fits, and nothing about it. */
    secretFingerprint: z.string().regex(/^[0-9a-f]{64}$/),
  }),
})

export const MarketClockAnchored = defineEvent('MarketClockAnchored', 'store-market-clock', {
  summary: 'A simulated market changed speed: market time = marketTime + (wall time − wallTime) × speed.',
  data: z.object({ wallTime: timeMs, marketTime: timeMs, speed: z.number().positive().max(100_000) }),
})

export const MarketClockRun = defineEvent('MarketClockRun', 'store-market-runs', {
  summary: 'A simulated market computed a stretch of its past, bar by bar, as fast as it could.',
  data: z.object({ from: timeMs, to: timeMs }),
})

export const LogEndLost = defineEvent('LogEndLost', 'store-losses', {
  summary: 'The operator accepted the loss of the newest events: positions after `endsAt` are reused.',
  data: z.object({
    /** The newest position that was left. */
    endsAt: z.int().positive(),
    /** The newest position that had been durable, where that was still known. */
    notedPosition: z.int().positive().nullable(),
    /** How it was seen. */
    damage: z.string().min(1).max(4_096),
  }),
})

export const VerdictRecorded = defineEvent('VerdictRecorded', 'verdict-{exchange}.{coin}.{timeframe}', {
  summary: 'The verdict of a series at a closed bar, HOLD included, once per bar, with the one before it.',
  data: verdictSchema,
})

export const OutcomeLabelled = defineEvent('OutcomeLabelled', 'outcome-{exchange}.{coin}.{timeframe}', {
  summary: 'The outcome of a verdict, HOLD included, recorded once its window has closed.',
  data: outcomeSchema,
})

export const UniverseRanked = defineEvent('UniverseRanked', 'scan-{exchange}.universe', {
  summary: 'The coins of a venue in the order of their 24-hour quote volume: what `top:N` refers to.',
  data: universeSchema,
})

type DefinitionsIn<Module> = {
  [Name in keyof Module as Module[Name] extends EventDefinition<infer _Type, infer _Data>
    ? Name
    : never]: Module[Name]
}

/** The event definitions of a file, by name; a file may export schemas beside them. */
const definitionsIn = <Module extends object>(module: Module): DefinitionsIn<Module> =>
  Object.fromEntries(
    Object.entries(module)
      .filter(([, value]) => typeof value === 'object' && 'summary' in value)
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  ) as DefinitionsIn<Module>

/** Every event the service writes, by type. */
export const EVENT_CATALOGUE = {
  LogBegun,
  LogEndLost,
  MarketClockAnchored,
  MarketClockRun,
  VerdictRecorded,
  OutcomeLabelled,
  UniverseRanked,
  ...definitionsIn(scanEvents),
  ...definitionsIn(proofEvents),
  ...definitionsIn(accountEvents),
  ...definitionsIn(oauthEvents),
  ...definitionsIn(quotaEvents),
  ...definitionsIn(paymentEvents),
  ...definitionsIn(subscriptionEvents),
  ...definitionsIn(deliveryEvents),
  ...definitionsIn(leaseEvents),
}

export type EventType = keyof typeof EVENT_CATALOGUE

/** Any event of the catalogue, decoded; narrows by `type`. */
export type ServiceEvent = { [Type in EventType]: EventOf<(typeof EVENT_CATALOGUE)[Type]> }[EventType]

/** The content of an event of a type, before it is recorded. */
export type FactOf<Type extends EventType> = {
  [One in Type]: Pick<EventOf<(typeof EVENT_CATALOGUE)[One]>, 'type' | 'data'>
}[Type]

/** Makes the event of a fact, as {@link newEvent} does. */
export const eventOf = ({ type, data }: FactOf<EventType>, place: Pick<NewEvent, 'id' | 'meta'>): NewEvent =>
  newEvent(EVENT_CATALOGUE[type] as EventDefinition, { ...place, data })

/**
 * Decodes a recorded event to its current schema.
 *
 * @throws ServiceError `event_unreadable` where this release cannot read it.
 */
export const decodeEvent = (event: RecordedEvent): ServiceEvent =>
  upcast(event, definitionOf(event)) as ServiceEvent

/** As {@link decodeEvent}, of a stream that holds these types. @throws ServiceError `event_unreadable` for others */
export function decodeEventOf<Type extends ServiceEvent['type']>(
  recorded: RecordedEvent,
  ...types: readonly Type[]
): Extract<ServiceEvent, { readonly type: Type }> {
  const event = decodeEvent(recorded)
  if (types.includes(event.type as Type)) return event as Extract<ServiceEvent, { readonly type: Type }>
  const { stream, type, revision } = recorded
  const message = `The stream ${stream} holds a ${type} at revision ${revision}.`
  throw new ServiceError('event_unreadable', { message })
}

/**
 * Refuses an event that this release cannot read, where what the event says is not looked at.
 *
 * @throws ServiceError `event_unreadable`
 */
export const requireReadable = (event: EventPlace): void => requireKnownSchema(event, definitionOf(event))

function definitionOf({ type, position }: EventPlace): EventDefinition {
  if (Object.hasOwn(EVENT_CATALOGUE, type)) return EVENT_CATALOGUE[type as EventType]
  const message = `event type ${type} at position ${position} is not known to this release`
  throw new ServiceError('event_unreadable', { message })
}
