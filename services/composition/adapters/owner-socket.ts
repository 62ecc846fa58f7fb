import { once } from 'node:events'
import { lstatSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { resolve } from 'node:path'
import type { Logger } from 'pino'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { createOwnerServer } from '../../http/operator.ts'
import { closeInTime } from '../serve.ts'

export interface OwnerSocket {
  readonly path: string
  /** Stops listening, lets requests in flight end, and removes the socket. */
  close(): Promise<void>
}

const SOCKET_NAME = 'owner.sock'
/** Bytes of a socket's path that every Unix takes: macOS has room for 104 with the zero at the end. */
const LONGEST_PATH_BYTES = 103
/** A socket on this machine answers at once, or its process hangs. */
const CONNECT_MS = 2_000

const socketPathIn = (directory: string): string => resolve(directory, SOCKET_NAME)

/**
 * Opens the socket in a data folder through which only the owner of the folder reaches the service. Everything that
 * arrives there is the operator's. The service goes on without it if there are no Unix sockets, if another process
 * answers there, and if it cannot be made; the latter two are logged. @param directory the folder of the market.
 */
export async function openOwnerSocket(
  app: Parameters<typeof createOwnerServer>[0],
  directory: string,
  log: Pick<Logger, 'warn'>,
): Promise<OwnerSocket | undefined> {
  if (process.platform === 'win32') return undefined
  try {
    const path = socketPathIn(directory)
    const bytes = Buffer.byteLength(path)
    if (bytes > LONGEST_PATH_BYTES)
      throw new ServiceError('config_invalid', {
        message: `${path} has ${bytes} bytes, and a socket's path at most ${LONGEST_PATH_BYTES}; a shorter DATA_DIR mends it`,
      })
    if (await isAnswered(path)) {
      log.warn({ directory }, 'another process answers at the owner’s socket; this one goes without')
      return undefined
    }
    // A killed process leaves its socket. Another kind of file stays, and listening fails on it.
    if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true) rmSync(path)
    await app.ready()
    return await listenAt(path, createOwnerServer(app))
  } catch (error) {
    log.warn({ err: error, directory }, 'the owner’s socket cannot be opened; the command line needs a token')
    return undefined
  }
}

async function listenAt(path: string, server: ReturnType<typeof createOwnerServer>): Promise<OwnerSocket> {
  const listening = once(server, 'listening')
  // Nobody else may connect from the first moment: a socket has its mode from the start.
  const umask = process.umask(0o177)
  try {
    server.listen(path)
  } finally {
    process.umask(umask)
  }
  await listening
  async function close(): Promise<void> {
    const closed = once(server, 'close')
    // Node removes the socket itself as it stops listening.
    server.close()
    server.closeIdleConnections()
    await closed
  }
  return { path, close: () => closeInTime(close, () => server.closeAllConnections()) }
}

/**
 * The socket of the service that runs on a data folder; undefined if none answers. @param directory the folder of the
 * market. @throws ServiceError `server_unreachable` if one is there that this user cannot open.
 */
export async function findOwnerSocket(directory: string): Promise<string | undefined> {
  const path = socketPathIn(directory)
  return (await isAnswered(path)) ? path : undefined
}

/** No file, no process that listens on it, or a file that is no socket. */
const ABSENT: readonly unknown[] = ['ENOENT', 'ECONNREFUSED', 'ENOTSOCK', 'ENOTDIR']

async function isAnswered(path: string): Promise<boolean> {
  if (Buffer.byteLength(path) > LONGEST_PATH_BYTES) return false
  const socket = connect(path)
  socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error(`no answer within ${CONNECT_MS} ms`)))
  try {
    await once(socket, 'connect')
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && ABSENT.includes(error.code)) return false
    throw new ServiceError('server_unreachable', {
      message: `the owner’s socket ${path} cannot be opened: ${reasonOf(error)}. Only the user who started the service can; others name its address (--server), with a token to see everything`,
      cause: error,
    })
  } finally {
    socket.destroy()
  }
}
