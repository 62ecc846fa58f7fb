import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

/** Hosts of the receiver of benchmarks: several, since the endpoints of one share its places. */
export const RECEIVER_HOSTS = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'] as const

/**
 * Starts a process that takes POSTs as fast as it can.
 *
 * @param options `tls` to speak TLS, `close` to end each connection with its answer
 */
export async function startReceiver(...options: ('tls' | 'close')[]) {
  const receiver = spawn(process.execPath, [join(import.meta.dirname, 'webhook-receiver.ts'), ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [portLine] = (await once(receiver.stdout, 'data')) as [Buffer]
  const port = Number(portLine.toString())
  return {
    port,
    /** Processor time that it has used, milliseconds; 0 where the system does not say. */
    cpuMs(): number {
      const file = `/proc/${receiver.pid}/stat`
      const [, , ...fields] = existsSync(file) ? readFileSync(file, 'utf8').split(' ') : []
      // In hundredths of a second: the fourteenth and fifteenth of the file.
      return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * 10
    },
    /** The address of one of its hosts, in turn. */
    hostOf: (n: number): string => `http://${RECEIVER_HOSTS[n % RECEIVER_HOSTS.length]}:${port}`,
    stop: (): void => void receiver.kill(),
  }
}

/** An endpoint in this process that answers 204 after so long, and tells when a POST has come. */
export async function listenHere(afterMs = 0) {
  let arrived = Promise.withResolvers<number>()
  const server = createServer((request, response) => {
    arrived.resolve(performance.now())
    request.resume()
    const answer = (): void => void response.writeHead(204).end()
    request.on('end', () => (afterMs === 0 ? answer() : setTimeout(answer, afterMs)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    /** When the next POST comes, by `performance.now()`. */
    next(): Promise<number> {
      arrived = Promise.withResolvers()
      return arrived.promise
    },
    close(): void {
      server.closeAllConnections()
      server.close()
    },
  }
}
