import { ServiceError } from '../../../contracts/errors/errors.ts'
import { nearestName } from '../../../contracts/infra/input-faults.ts'
import { seedOfStore } from '../../log/store-identity.ts'
import {
  createRecordedFeed,
  createSimulatedFeed,
  DEFAULT_SIMULATED_COINS,
  KNOWN_SIMULATED_COINS,
  LIVE_EXCHANGES,
  LiveFeed,
  type MarketFeed,
  openMarketClock,
  openWatchList,
  type RecordedFeed,
  type WatchList,
} from '../../market/index.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { Settings } from '../../runtime/config/settings.ts'
import type { Start } from '../shutdown.ts'
import type { Platform } from './open-platform.ts'

/**
 * The simulated market could make up any coin; a mistyped one is no wish for that. @throws ServiceError
 * `config_invalid` that names the coin that was most likely meant.
 */
export function requireKnownCoins({ MARKET, COINS = [], SIMULATED_COINS = [] }: Settings): void {
  const known = new Set([...KNOWN_SIMULATED_COINS, ...SIMULATED_COINS])
  const stranger = MARKET === 'simulated' ? COINS.find((coin) => !known.has(coin)) : undefined
  if (stranger === undefined) return
  const meant = nearestName(stranger, known)
  const guess = meant === undefined ? '.' : `; did you mean ${meant}?`
  throw new ServiceError('config_invalid', {
    message: `COINS (--coins) names ${stranger}, which the simulated market does not have${guess} It has ${[...known].join(', ')}. To make up a coin of your own, name it in SIMULATED_COINS (--simulated-coins), too`,
  })
}

export async function openFeed(start: Start, platform: Platform): Promise<MarketFeed> {
  const { settings, log } = start
  if (settings.MARKET === 'simulated') return openSimulatedFeed(start, platform)
  if (settings.MARKET === 'recorded')
    return openRecordedFeed(settings, { now: Date.now(), report: (notice) => log.warn(notice) })
  return new LiveFeed({
    exchanges: settings.EXCHANGES ?? LIVE_EXCHANGES,
    ...(settings.VENUE_URLS && { venueUrls: settings.VENUE_URLS }),
    now: Date.now,
    sleep,
    random: Math.random,
    report: ({ message, ...details }) => log.warn(details, message),
  })
}

export function openRecordedFeed(
  settings: Partial<Settings>,
  present: { readonly now: number; readonly report: (notice: string) => void },
): RecordedFeed {
  const { MARKET_DATA, EXCHANGES, COINS, TIMEFRAMES, MARKET_FROM, MARKET_TO, MARKET_SPEED } = settings
  return createRecordedFeed({
    ...present,
    folder: MARKET_DATA ?? '',
    ...(EXCHANGES && { exchanges: EXCHANGES }),
    // Naming one exchange also says whose the files are, if their folder does not.
    ...(EXCHANGES?.length === 1 && EXCHANGES[0] && { exchange: EXCHANGES[0] }),
    ...(COINS && { coins: COINS }),
    ...(TIMEFRAMES && { timeframes: TIMEFRAMES }),
    period: {
      ...(MARKET_FROM !== undefined && { from: MARKET_FROM }),
      ...(MARKET_TO !== undefined && { to: MARKET_TO }),
    },
    ...(MARKET_SPEED !== undefined && { pace: { speed: MARKET_SPEED, now: Date.now, sleep } }),
  })
}

async function openSimulatedFeed(
  { settings, log, shutdown }: Start,
  { store, newId }: Platform,
): Promise<MarketFeed> {
  const clock = await openMarketClock(store, {
    speed: settings.ROLES.includes('engine') ? (settings.MARKET_SPEED ?? 1) : undefined,
    newId,
    signal: shutdown.stopSignal,
    onFailure: (error) => log.error({ err: error }, 'the pace of the market is not followed any more'),
  })
  shutdown.onClose(() => clock.ended())
  return createSimulatedFeed({
    // The store says how its market is drawn, so that it stays the same from release to release.
    seed: (await seedOfStore(store)) ?? settings.MARKET_SEED,
    coins: settings.COINS ?? [...DEFAULT_SIMULATED_COINS, ...(settings.SIMULATED_COINS ?? [])],
    now: clock.now,
    sleepUntil: clock.sleepUntil,
  })
}

/** The series that an engine process follows; undefined without that role. */
export const watchListOf = async (
  { settings, log }: Start,
  feed: MarketFeed,
): Promise<WatchList | undefined> =>
  settings.ROLES.includes('engine')
    ? openWatchList(feed, settings, sleep, {
        lacking: (exchange, coins) =>
          log.warn(
            { exchange, coins, others: coins.flatMap((coin) => feed.whyNoCoin?.({ exchange, coin }) ?? []) },
            'COINS that the venue does not list, or not among its largest',
          ),
        left: (exchange, coins) =>
          log.info({ exchange, coins }, 'coins that are not chosen any more, and are followed on for now'),
      })
    : undefined
