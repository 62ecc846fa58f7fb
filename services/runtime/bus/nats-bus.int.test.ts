import { describe } from 'vitest'
import type { ServiceError } from '../../../contracts/errors/errors.ts'
import { natsServers } from '../../../testing/servers/nats-servers.ts'
import { describeBusContract } from './bus.contract.ts'
import { openNatsBus } from './nats-bus.ts'

const servers = await natsServers({ killable: false })

describe.skipIf(servers.missing !== undefined)(`NATS bus${servers.missing ?? ''}`, () => {
  let opened = 0

  describeBusContract('NATS', async () => {
    const server = await servers.start()
    const faults: ServiceError[] = []
    const report = (fault: ServiceError): void => void faults.push(fault)
    const logId = `contract-${process.pid}-${opened++}`
    const clocks = { now: Date.now, random: Math.random }
    const open = () => openNatsBus({ url: server.url, logId, ...clocks, report })
    const bus = await open()
    const peer = await open()
    const close = async (): Promise<void> => {
      await Promise.all([bus.close(), peer.close()])
      await server.stop()
    }
    return { bus, peer, faults, open, close }
  })
})
