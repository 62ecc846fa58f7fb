import { readFileSync } from 'node:fs'
import { Registry } from 'prom-client'
import type { Accounts } from '../accounts/index.ts'
import type { ToolHandler } from '../engine/index.ts'
import type { CallPath } from '../tool-calls/index.ts'
import { openFeed, requireKnownCoins, watchListOf } from './adapters/open-feed.ts'
import { openPlatform } from './adapters/open-platform.ts'
import { openProjector } from './adapters/start-projector.ts'
import { createConsole } from './console.ts'
import { createCounters } from './metrics/gauges.ts'
import { createMarketNow } from './roles/newest-verdicts.ts'
import { openSpeech } from './roles/speech.ts'
import type { Start } from './shutdown.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

/** The parts that all roles of a process share. */
export type SharedParts = Awaited<ReturnType<typeof openShared>>

/** The same, once it is known who calls and who answers tools. */
export interface CallerParts extends SharedParts {
  readonly toolHandler: ToolHandler
  readonly accounts: Accounts
  readonly calls: CallPath
}

/** Opens the parts that all roles of a process share, each over those before it. */
export async function openShared(start: Start, output: NodeJS.WriteStream) {
  const { settings } = start
  requireKnownCoins(settings)
  const registry = new Registry()
  const counters = createCounters(registry)
  const platform = await openPlatform(start, counters.appended)
  const feed = await openFeed(start, platform)
  const projector = await openProjector(start, platform)
  const address = { url: settings.PUBLIC_URL ?? '' }
  return {
    ...start,
    version,
    registry,
    counters,
    terminal: createConsole(settings, output),
    platform,
    feed,
    /** Undefined in a process that keeps no read models. */
    projector,
    speech: openSpeech(start, platform, projector),
    /** The address under which callers reach the service; without PUBLIC_URL it is known once the process listens. */
    publicUrl: (): string => address.url,
    listensAt(url: string | undefined) {
      address.url = url ?? address.url
    },
    /** Market time, Unix milliseconds. */
    marketNow: createMarketNow(settings, feed, projector),
    /** The series that this process follows; undefined without the engine role. */
    watchList: await watchListOf(start, feed),
  }
}
