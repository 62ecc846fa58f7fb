import type { ServiceError } from '../../../contracts/errors.ts'
import { describeBusContract } from './bus.contract.ts'
import { createInProcessBus } from './in-process-bus.ts'

const ackWaitMs = 300

describeBusContract('in-process', async () => {
  const faults: ServiceError[] = []
  const report = (fault: ServiceError): void => void faults.push(fault)
  const bus = createInProcessBus({ now: Date.now, report, ackWaitMs })
  const open = async () => createInProcessBus({ now: Date.now, report, ackWaitMs })
  return { bus, peer: bus, faults, open, close: () => bus.close() }
})
