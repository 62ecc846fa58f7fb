import type { Logger } from 'pino'
import type { Accounts } from '../../accounts/index.ts'
import type { ToolHandler } from '../../engine/index.ts'
import type { Projector } from '../../log/projector/projector.ts'
import type { Settings } from '../../runtime/config/settings.ts'
import type { Tracing } from '../../runtime/tracing/tracing.ts'
import type { CallPath } from '../../tool-calls/index.ts'
import type { Platform } from '../adapters/open-platform.ts'
import type { ServiceMetrics } from '../metrics/service-metrics.ts'
import type { OpenedSpeech } from './speech.ts'

/** What everything that serves callers is opened with. */
export interface CallerDeps {
  readonly settings: Settings
  readonly platform: Platform
  readonly projector: Projector | undefined
  readonly toolHandler: ToolHandler
  readonly speech: OpenedSpeech
  readonly metrics: ServiceMetrics
  readonly tracing: Tracing | undefined
  readonly publicUrl: () => string
  readonly version: string
  readonly log: Logger
}

/** The same, once it is known who calls. */
export interface KnownCallerDeps extends CallerDeps {
  readonly accounts: Accounts
  readonly calls: CallPath
  /** Market time, Unix milliseconds. */
  readonly marketNow: () => number
}
