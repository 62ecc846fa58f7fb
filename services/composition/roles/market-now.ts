import type { Projector } from '../../log/projector/projector.ts'
import type { MarketFeed } from '../../market/index.ts'
import { newestVerdicts } from './newest-verdicts.ts'

/**
 * Market time as the replay goes by it: never earlier than it was before in this process, nor, in a recorded
 * market, than the newest bar in the log. A replay that starts over would otherwise hide what was shown.
 */
export function createMarketNow(feed: MarketFeed, projector: Projector | undefined): () => number {
  let latest = Number.NEGATIVE_INFINITY
  return () => {
    latest = Math.max(latest, feed.clock())
    if (feed.kind === 'recorded' && projector !== undefined) latest = Math.max(latest, newestBar(projector))
    return latest
  }
}

function newestBar(projector: Projector): number {
  let newest = 0
  for (const { barClose } of newestVerdicts(projector)) newest = Math.max(newest, barClose)
  return newest
}
