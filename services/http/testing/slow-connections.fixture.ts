import { get, request } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** How one comes to a service: from an address of this machine, or by a socket. */
export type Way = { readonly localAddress: string } | { readonly socketPath: string }

/** Opens a page as a browser does. @returns its status, once it is there whole */
export const openPage = (url: string, path: string, way: Way): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = { accept: 'text/html', host: 'localhost' }
    get({ host: '127.0.0.1', port: new URL(url).port, ...way, path, headers }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0))
    }).on('error', reject)
  })

/** Hosts of documents, each at the same port. */
const HOSTS = Array.from({ length: 8 }, (_, n) => `127.0.0.${1 + n}`)

/** Takes connections and says nothing: a mail server, and hosts of clients' documents, that keep others waiting. */
export async function startSilence() {
  const sockets = new Set<Socket>()
  let port = 0
  const servers: Server[] = []
  for (const host of HOSTS) {
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => undefined).resume()
    })
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(port, host, resolve))
    ;({ port } = server.address() as AddressInfo)
  }
  return {
    port,
    stop(): void {
      for (const socket of sockets) socket.destroy()
      for (const server of servers) server.close()
    },
  }
}

/** A connection that goes on by a byte every two seconds. */
export interface Drip {
  readonly socket: Socket
  /** Resolves when it is cut off. */
  readonly ended: Promise<void>
}

const SLOW_FORM =
  'POST /account/sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 60000\r\n\r\ne'
const READ = ['/track-record', '/series/SIM/BTC/1m', '/api/series/SIM/BTC/1m', '/api/verdicts']

/** All the ways to be slow at a service, from addresses of their own. */
export function createSlowness(url: string, silencePort: number) {
  const over = new AbortController()
  const target = { host: '127.0.0.1', port: Number(new URL(url).port) }
  const held = new Set<{ destroy: () => unknown }>()

  function drip(localAddress: string, text: string): Drip {
    const socket = connect({ ...target, localAddress })
    held.add(socket)
    socket.on('error', () => undefined).write(text)
    const dripping = setInterval(() => socket.write('e'), 2_000)
    const ended = new Promise<void>((resolve) => {
      socket.once('close', () => {
        clearInterval(dripping)
        resolve()
      })
    })
    return { socket, ended }
  }

  /** Asks again and again, each time for another document that never comes. */
  async function askForDocuments(localAddress: string, host: string): Promise<void> {
    for (let n = 0; !over.signal.aborted; n++) {
      const client = encodeURIComponent(`https://${host}:${silencePort}/${localAddress}/${n}.json`)
      await openPage(url, `/oauth/authorize?client_id=${client}`, { localAddress }).catch(() => 0)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  return {
    /** Forms that never come whole. */
    forms: (count: number): Drip[] =>
      Array.from({ length: count }, () => {
        const form = drip('127.0.9.1', SLOW_FORM)
        form.socket.resume()
        return form
      }),
    documents(count: number): void {
      for (let n = 0; n < count; n++) {
        void askForDocuments(`127.0.9.${10 + (n % 8)}`, HOSTS[n % HOSTS.length] ?? '')
      }
    },
    /** Whole forms, whose mails do not leave. */
    mails(count: number): void {
      for (let n = 0; n < count; n++) {
        const localAddress = `127.0.9.${40 + (n % 4)}`
        const type = 'application/x-www-form-urlencoded'
        const headers = { 'content-type': type, host: 'localhost', origin: 'http://localhost' }
        const asked = request({ ...target, localAddress, method: 'POST', path: '/account/sign-in', headers })
        held.add(asked.on('error', () => undefined))
        asked.end(new URLSearchParams({ email: `reader-${n}@example.com` }).toString())
      }
    },
    /** Readers who ask for much, and read none of it. */
    readers(count: number): void {
      for (let n = 0; n < count; n++) {
        const text = `GET ${READ[n % READ.length]} HTTP/1.1\r\nHost: localhost\r\n\r\n`
        drip(`127.0.9.${60 + (n % 8)}`, text).socket.pause()
      }
    },
    stop(): void {
      over.abort()
      for (const one of held) one.destroy()
    },
  }
}
