import { once } from 'node:events'
import { connect } from 'node:net'

const LISTEN_MS = 500
const LONGEST_SENTENCE = 200

/**
 * What a server says by itself to whoever connects, before it closes: Redis in protected mode, or with as many clients
 * as it takes. The client loses these words. Undefined where nothing is said.
 */
export async function redisRefusal(hostname: string, port: number): Promise<string | undefined> {
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port })
  try {
    const [said] = (await once(socket, 'data', { signal: AbortSignal.timeout(LISTEN_MS) })) as [Buffer]
    const line = String(said).split(/\r?\n/, 1)[0] ?? ''
    if (!line.startsWith('-')) return undefined
    return line.slice(1).split('. ', 1)[0]?.slice(0, LONGEST_SENTENCE)
  } catch {
    // Silent, or not there: what the client met says more.
    return undefined
  } finally {
    socket.destroy()
  }
}
