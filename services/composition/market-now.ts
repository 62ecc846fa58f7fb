import { latestVerdicts } from '../../projections/index.ts'
import type { MarketFeed } from '../market/index.ts'
import type { Projector } from '../platform/projector/projector.ts'

/** Rows read at a time. */
const PAGE = 500

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
  const board = projector.reader(latestVerdicts)
  let newest = 0
  for (let after = ''; ; ) {
    const page = board.range({ after, limit: PAGE })
    for (const { row } of page) newest = Math.max(newest, row.verdict.barClose)
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return newest
    after = last.key
  }
}
