import { nearestName } from '../../../contracts/did-you-mean.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { decodeEvent, MarketClockAnchored } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import type { Position } from '../../../contracts/position.ts'
import { MARKET_CLOCK_STREAM } from '../../../contracts/streams.ts'
import { RETRY_FOR_CALLER } from '../../log/append-with-retry.ts'
import { executeCommand } from '../../log/command-handler.ts'
import type { EventStore } from '../../log/event-store.ts'
import { seedOfStore } from '../../log/store-identity.ts'
import {
  type ClockAnchor,
  createRecordedFeed,
  createSimulatedFeed,
  DEFAULT_SIMULATED_COINS,
  KNOWN_SIMULATED_COINS,
  LIVE_EXCHANGES,
  LiveFeed,
  type MarketFeed,
  marketTimeAt,
  planAnchor,
  type RecordedFeed,
} from '../../market/index.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { Settings } from '../../runtime/config/settings.ts'
import type { Lifetime } from '../lifetime.ts'
import type { Platform } from './open-platform.ts'

/**
 * The simulated market could make up any coin; a mistyped one is no wish for that.
 *
 * @throws ServiceError `config_invalid` that names the coin that was most likely meant.
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

export async function openFeed(life: Lifetime, platform: Platform): Promise<MarketFeed> {
  const { MARKET } = life.settings
  if (MARKET === 'recorded') {
    return openRecordedFeed(life.settings, {
      now: Date.now(),
      report: (notice) => life.log.warn(notice),
    })
  }
  return MARKET === 'live' ? openLiveFeed(life) : openSimulatedFeed(life, platform)
}

function openLiveFeed({ settings: { EXCHANGES, VENUE_URLS }, log }: Lifetime): MarketFeed {
  return new LiveFeed({
    exchanges: EXCHANGES ?? LIVE_EXCHANGES,
    ...(VENUE_URLS && { venueUrls: VENUE_URLS }),
    now: Date.now,
    sleep,
    random: Math.random,
    report: ({ message, ...about }) => log.warn(about, message),
  })
}

type RecordedSettings = Partial<
  Pick<
    Settings,
    'MARKET_DATA' | 'EXCHANGES' | 'COINS' | 'TIMEFRAMES' | 'MARKET_FROM' | 'MARKET_TO' | 'MARKET_SPEED'
  >
>

export function openRecordedFeed(
  settings: RecordedSettings,
  present: { readonly now: number; readonly report: (notice: string) => void },
): RecordedFeed {
  const { MARKET_DATA, EXCHANGES, COINS, TIMEFRAMES, MARKET_FROM, MARKET_TO, MARKET_SPEED } = settings
  return createRecordedFeed({
    ...present,
    folder: MARKET_DATA ?? '',
    ...(EXCHANGES && { exchanges: EXCHANGES }),
    // Naming one exchange also says whose the files are, where their folder does not.
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
  { settings, closing, log, onClose }: Lifetime,
  platform: Platform,
): Promise<MarketFeed> {
  const { store } = platform
  // The process that computes the market sets its pace; the others go by it.
  if (settings.ROLES.includes('engine')) await anchorClock(platform, settings.MARKET_SPEED ?? 1, closing)
  // The head comes first: an anchor that is appended in between is read, and followed too.
  const after = await store.head()
  let { anchor } = await readAnchor(store)
  const following = followAnchor(store, after, closing, (next) => {
    anchor = next
  }).catch((error: unknown) => log.error({ err: error }, 'the pace of the market is followed no more'))
  onClose(() => following)
  const now = (): number => marketTimeAt(anchor, Date.now())
  return createSimulatedFeed({
    // The store says how its market is drawn, so that it stays the same from release to release.
    seed: (await seedOfStore(store)) ?? settings.MARKET_SEED,
    coins: settings.COINS ?? [...DEFAULT_SIMULATED_COINS, ...(settings.SIMULATED_COINS ?? [])],
    now,
    sleepUntil: async (marketTime, signal) => {
      while (now() < marketTime && !signal.aborted) {
        const left = (marketTime - now()) / (anchor?.speed ?? 1)
        // Woken now and then, because another process may set another pace meanwhile.
        await sleep(Math.min(LONGEST_SLEEP_MS, Math.max(1, left)), signal)
      }
    },
  })
}

const LONGEST_SLEEP_MS = 5_000

async function followAnchor(
  store: EventStore,
  after: Position,
  signal: AbortSignal,
  onAnchor: (anchor: ClockAnchor) => void,
): Promise<void> {
  const filter = { streamPrefixes: [MARKET_CLOCK_STREAM] }
  for await (const item of store.subscribe({ after, filter, signal })) {
    if (item.kind !== 'event') continue
    const event = decodeEvent(item.event)
    if (event.type === 'MarketClockAnchored') onAnchor(event.data)
  }
}

/** Market time continues from where it stopped, at the speed of the settings: the log keeps the anchor. */
async function anchorClock({ store, newId }: Platform, speed: number, signal: AbortSignal): Promise<void> {
  const path = { store, policy: RETRY_FOR_CALLER, now: Date.now, sleep, signal }
  await executeCommand<ClockAnchor | undefined, void>(path, {
    stream: MARKET_CLOCK_STREAM,
    load: async () => {
      const { anchor: state, revision } = await readAnchor(store)
      return { state, revision }
    },
    decide(anchor) {
      const planned = planAnchor(anchor, Date.now(), speed)
      if (planned === undefined) return { events: [], result: undefined }
      const id = newId()
      const meta = { correlationId: id, actor: 'start' }
      return {
        events: [newEvent(MarketClockAnchored, { id, data: { ...planned }, meta })],
        result: undefined,
      }
    },
    unknown: { what: 'the market has its pace', again: 'Start again.' },
  })
}

async function readAnchor(store: EventStore) {
  for await (const recorded of store.read(MARKET_CLOCK_STREAM, { direction: 'backwards', limit: 1 })) {
    const event = decodeEvent(recorded)
    return {
      anchor: event.type === 'MarketClockAnchored' ? event.data : undefined,
      revision: recorded.revision,
    }
  }
  return { anchor: undefined, revision: 'no-stream' as const }
}
