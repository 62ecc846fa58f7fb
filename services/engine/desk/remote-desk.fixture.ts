import { sleep } from '../../platform/async/sleep.ts'
import type { Bus } from '../../platform/bus/bus.ts'
import { createRemoteDesk, type RemoteDesk, type RemoteDeskOptions } from './remote-desk.ts'

/** A remote desk without verdicts of its own. */
export const remoteDeskOver = (
  bus: Pick<Bus, 'request'>,
  change: Partial<RemoteDeskOptions> = {},
): RemoteDesk =>
  createRemoteDesk({
    bus,
    newest: undefined,
    publicUrl: () => 'https://signals.example.com',
    elapsed: () => performance.now(),
    sleep,
    report: () => undefined,
    ...change,
  })
