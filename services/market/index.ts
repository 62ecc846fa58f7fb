export { type AggregationTarget, type BarAggregator, createBarAggregator } from './aggregate-bars.ts'
export {
  type BatchesRequest,
  type MarketFeed,
  type MarketListing,
  type NativeBars,
  VENUE_FAULTS,
  type VenueFault,
  type VenueHealth,
} from './feed.ts'
export { createKeptBars, type KeptBars } from './live/kept/kept-bars.ts'
export { createLiveFeed, type LiveFeedOptions, type VenueNotice } from './live/live-feed.ts'
export { LIVE_EXCHANGES, type LiveExchange } from './live/venues.ts'
export { type ClockAnchor, marketTimeAt, planAnchor } from './market-clock.ts'
export { type NormalisedBars, normaliseBars } from './normalise-bars.ts'
export { type NormalisedFunding, normaliseFunding, type RawFunding } from './normalise-funding.ts'
export { derivableTimeframes, planSource } from './plan-source.ts'
export {
  type AcceleratedPace,
  createRecordedFeed,
  type RecordedFeed,
  type RecordedFeedOptions,
  type ReplayPace,
} from './recorded/recorded-feed.ts'
export type { IgnoredRecording } from './recorded/recording.ts'
export { DEFAULT_SIMULATED_COINS, KNOWN_SIMULATED_COINS } from './simulated/simulated-coins.ts'
export { createSimulatedFeed, type SimulatedFeedOptions } from './simulated/simulated-feed.ts'
