import { join } from 'node:path'
import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { findOwnerSocket } from '../../composition/adapters/owner-socket.ts'
import { SETTINGS } from '../../runtime/config/settings.ts'
import type { CommandInput } from './command.ts'
import { FOLDER_FLAGS, settingFlag } from './common-flags.ts'
import { Service, type ServiceAddress } from './service.ts'

/** Flags that choose the service to ask. */
export const SERVICE_FLAGS = {
  server: {
    schema: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).optional(),
    help: 'Address of the service to ask; the operator adds --operator-token. Without it, the service that runs on --data-dir.',
    example: 'http://127.0.0.1:8402',
  },
  'operator-token': settingFlag('OPERATOR_TOKEN'),
  ...FOLDER_FLAGS,
} as const

type ServiceInput = Pick<CommandInput<typeof SERVICE_FLAGS>, 'flags' | 'signal' | 'stderr'>

/**
 * The running service that a command asks: the one at `--server`, or the one that runs on the data folder, through the
 * socket of its owner. It says which one on standard error, where that is not the one by default.
 *
 * @throws ServiceError `config_invalid` where none runs: a closed store is not read
 */
export async function findService({ flags, signal, stderr }: ServiceInput): Promise<Service> {
  const directory = join(flags['data-dir'], flags.market)
  const place = flags.server ?? directory
  if (place !== join(SETTINGS.DATA_DIR.schema.parse(undefined), SETTINGS.MARKET.schema.parse(undefined)))
    stderr.write(`asking ${place}\n`)
  const at = (name: string, address: ServiceAddress): Service => {
    const onWait = (why: string, waitMs: number): void =>
      void stderr.write(`${name}: ${why}; asking again in ${waitMs / 1_000} s\n`)
    return new Service({ ...address, name, onWait }, signal)
  }
  if (flags.server !== undefined)
    return at(`the service at ${flags.server}`, { url: flags.server, token: flags['operator-token'] })
  const socketPath = await findOwnerSocket(directory)
  if (socketPath !== undefined)
    return at(`the service that runs on ${directory}`, { url: 'http://localhost', socketPath })
  throw new ServiceError('config_invalid', {
    message: `no service runs on ${directory}: start it, or name another (--data-dir, --market, or --server with --operator-token)`,
  })
}
