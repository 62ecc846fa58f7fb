import type { ServiceError } from '../../../contracts/errors/errors.ts'
import { describeBusContract } from './bus.contract.ts'
import { createInProcessBus } from './in-process-bus.ts'

describeBusContract('in-process', async () => {
  const faults: ServiceError[] = []
  const report = (fault: ServiceError): void => void faults.push(fault)
  const bus = createInProcessBus({ report })
  const open = async () => createInProcessBus({ report })
  return { bus, peer: bus, faults, open, close: () => bus.close() }
})
