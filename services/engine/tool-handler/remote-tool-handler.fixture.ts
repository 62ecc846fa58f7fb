import { sleep } from '../../runtime/async/sleep.ts'
import type { Bus } from '../../runtime/bus/bus.ts'
import {
  createRemoteToolHandler,
  type RemoteToolHandler,
  type RemoteToolHandlerOptions,
} from './remote-tool-handler.ts'

/** A remote tool handler without verdicts of its own. */
export const remoteHandlerOver = (
  bus: Pick<Bus, 'request'>,
  change: Partial<RemoteToolHandlerOptions> = {},
): RemoteToolHandler =>
  createRemoteToolHandler({
    bus,
    newest: undefined,
    publicUrl: () => 'https://signals.example.com',
    elapsed: () => performance.now(),
    sleep,
    report: () => undefined,
    ...change,
  })
