import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { createHealthServer } from '../http/operator.ts'
import type { Settings } from '../runtime/config/settings.ts'

/** Addresses that cannot be listened on, by the code of the operating system. */
const BAD_ADDRESS: readonly string[] = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EACCES', 'EINVAL']

/**
 * Listens, and answers the address under which callers reach the service. @throws ServiceError `port_in_use`, or
 * `config_invalid` for an address that is not this machine's.
 */
export async function listen(app: FastifyInstance, { HOST, PORT, PUBLIC_URL }: Settings): Promise<string> {
  const listening = app.listen({ host: HOST, port: PORT })
  await explained(listening, { host: HOST, port: PORT, names: 'HOST (--host) and PORT (--port)' })
  const { port } = app.server.address() as AddressInfo
  return PUBLIC_URL ?? `http://${reachableHost(HOST)}:${port}`
}

/** Listened on, these stand for every address of the machine; as an address to go to they are none. */
const THIS_MACHINE: Readonly<Record<string, string>> = {
  '0.0.0.0': '127.0.0.1',
  '0': '127.0.0.1',
  '::': '[::1]',
  '::0': '[::1]',
}

const reachableHost = (host: string): string =>
  THIS_MACHINE[host] ?? (host.includes(':') ? `[${host}]` : host)

/** Callers elsewhere are given addresses that lead them to their own machine; undefined if all is well. */
export function addressWarning(
  { HOST, PUBLIC_URL }: Pick<Settings, 'HOST' | 'PUBLIC_URL'>,
  url: string | undefined,
): string | undefined {
  if (url === undefined || PUBLIC_URL !== undefined || THIS_MACHINE[HOST] === undefined) return undefined
  return `answers give ${url} as this service's address, which leads nowhere from other machines: set PUBLIC_URL (--public-url) to the address that callers use`
}

/**
 * Listens where the operator's machines ask for health; undefined if no port is set. @throws ServiceError
 * `port_in_use`, or `config_invalid` for an address that is not this machine's.
 */
export async function listenForHealth(
  app: FastifyInstance,
  { HEALTH_HOST: host, HEALTH_PORT: port }: Settings,
): Promise<{ readonly port: number; close(): Promise<void> } | undefined> {
  if (port === undefined) return undefined
  await app.ready()
  const server = createHealthServer(app)
  const listening = once(server.listen(port, host), 'listening')
  const names = 'HEALTH_HOST (--health-host) and HEALTH_PORT (--health-port)'
  await explained(listening, { host, port, names })
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** Says why an address cannot be listened on, in the words of the settings. */
async function explained(
  listening: Promise<unknown>,
  { host, port, names }: { readonly host: string; readonly port: number; readonly names: string },
): Promise<void> {
  try {
    await listening
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === 'EADDRINUSE')
      throw new ServiceError('port_in_use', { message: `${host}:${port} is already in use`, cause: error })
    if (!BAD_ADDRESS.includes(code)) throw error
    throw new ServiceError('config_invalid', {
      message: `${names} ${JSON.stringify(host)} and ${port} cannot be listened on: ${code}. For example: 127.0.0.1 and 8402`,
      cause: error,
    })
  }
}

/** Share of a shutdown's time that answers in flight may take. */
const FINISHING_SHARE = 0.8

/** Lets the answers in flight end; those that have not by then are cut. */
export async function closeInTime(close: () => Promise<unknown>, cut: () => void): Promise<void> {
  const cutting = setTimeout(cut, LIMITS.shutdownMs * FINISHING_SHARE)
  await close()
  clearTimeout(cutting)
}
