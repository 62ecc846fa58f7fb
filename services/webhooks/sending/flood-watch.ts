import type { Socket } from 'node:net'

/** Largest answer with all that is read of it: interim answers, headers, body; anything beyond is neither. */
const ANSWER_BYTES = 1_048_576

/** Ends connections that are sent more than any answer has. */
export interface FloodWatch {
  add(socket: Socket): void
  /** Looks at all connections; to be called now and then while requests are under way. */
  look(): void
}

interface Watched {
  /** What was sent and received when the newest request was first seen. */
  written: number
  read: number
}

/**
 * The client counts headers and bodies. What stands between them it passes over without an end (a reason phrase, the
 * extensions of chunks), so the bytes of the connection itself are looked at: those that came since anything was sent.
 */
export function createFloodWatch(): FloodWatch {
  const sockets = new Map<Socket, Watched>()
  return {
    add(socket) {
      sockets.set(socket, { written: socket.bytesWritten, read: socket.bytesRead })
      socket.once('close', () => sockets.delete(socket))
    },
    look() {
      for (const [socket, watched] of sockets) {
        if (socket.bytesWritten !== watched.written) {
          watched.written = socket.bytesWritten
          watched.read = socket.bytesRead
        } else if (socket.bytesRead - watched.read > ANSWER_BYTES) {
          socket.destroy(new Error(`more than ${ANSWER_BYTES} bytes that are no answer`))
        }
      }
    },
  }
}
