import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { ServiceError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Settings } from '../platform/config/settings.ts'

/** Addresses that cannot be listened on, by what the operating system says of them. */
const BAD_ADDRESS: readonly string[] = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EACCES', 'EINVAL']

/**
 * Listens, and answers the address under which callers reach the service.
 *
 * @throws ServiceError `port_in_use`, or `config_invalid` for an address that is not this machine's.
 */
export async function listen(app: FastifyInstance, { HOST, PORT, PUBLIC_URL }: Settings): Promise<string> {
  try {
    await app.listen({ host: HOST, port: PORT })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === 'EADDRINUSE') {
      throw new ServiceError('port_in_use', { message: `${HOST}:${PORT} is already in use`, cause: error })
    }
    if (!BAD_ADDRESS.includes(code)) throw error
    throw new ServiceError('config_invalid', {
      message: `HOST (--host) ${JSON.stringify(HOST)} and PORT (--port) ${PORT} cannot be listened on: ${code}. For example: 127.0.0.1 and 8402`,
      cause: error,
    })
  }
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

/** Callers elsewhere are given addresses that lead them to their own machine; undefined where all is well. */
export function addressWarning(
  { HOST, PUBLIC_URL }: Pick<Settings, 'HOST' | 'PUBLIC_URL'>,
  url: string | undefined,
): string | undefined {
  if (url === undefined || PUBLIC_URL !== undefined || THIS_MACHINE[HOST] === undefined) return undefined
  return `answers give ${url} as this service's address, which leads nowhere from other machines: set PUBLIC_URL (--public-url) to the address that callers use`
}

/** Share of a shutdown's time that answers in flight may take. */
const FINISHING_SHARE = 0.8

/** Lets what is in flight end; what has not by then is cut. */
export async function closeServer(app: FastifyInstance): Promise<void> {
  const cutting = setTimeout(() => app.server.closeAllConnections(), LIMITS.shutdownMs * FINISHING_SHARE)
  await app.close()
  clearTimeout(cutting)
}
