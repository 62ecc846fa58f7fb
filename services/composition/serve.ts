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
  const host = HOST.includes(':') ? `[${HOST}]` : HOST
  return PUBLIC_URL ?? `http://${host}:${port}`
}

/** Share of a shutdown's time that answers in flight may take. */
const FINISHING_SHARE = 0.8

/** Lets what is in flight end; what has not by then is cut. */
export async function closeServer(app: FastifyInstance): Promise<void> {
  const cutting = setTimeout(() => app.server.closeAllConnections(), LIMITS.shutdownMs * FINISHING_SHARE)
  await app.close()
  clearTimeout(cutting)
}
