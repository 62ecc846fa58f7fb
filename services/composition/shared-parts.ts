import type { Accounts } from '../accounts/index.ts'
import type { ToolHandler } from '../engine/index.ts'
import type { Projector } from '../log/projector/projector.ts'
import type { MarketFeed, WatchList } from '../market/index.ts'
import type { CallPath } from '../tool-calls/index.ts'
import type { Platform } from './adapters/open-platform.ts'
import type { Console } from './console.ts'
import type { Counters } from './metrics/counters.ts'
import type { OpenedSpeech } from './roles/speech.ts'
import type { Start } from './shutdown.ts'

/** The parts that all roles of a process share. */
export interface SharedParts extends Start {
  readonly version: string
  readonly terminal: Console
  readonly platform: Platform
  readonly feed: MarketFeed
  /** Undefined in a process that keeps no read models. */
  readonly projector: Projector | undefined
  readonly speech: OpenedSpeech
  readonly counters: Counters
  /** The address under which callers reach the service; without PUBLIC_URL it is known once the process listens. */
  readonly publicUrl: () => string
  /** Market time, Unix milliseconds. */
  readonly marketNow: () => number
  /** The series that this process follows; undefined without the engine role. */
  readonly watchList: WatchList | undefined
}

/** The same, once it is known who calls and who answers tools. */
export interface CallerParts extends SharedParts {
  readonly toolHandler: ToolHandler
  readonly accounts: Accounts
  readonly calls: CallPath
}
