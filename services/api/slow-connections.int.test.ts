import { type ClientRequest, get, request } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ServiceProcess, startServiceProcess } from './testing/start-service-process.ts'

/** A process of its own beside other tests takes its time to start. */
const PATIENCE_MS = 120_000
const PAGES = ['/account', '/track-record', '/series/SIM/BTC/1h', '/webhooks', '/operator']
const VISITOR = '127.0.9.99'
/** Sooner than a form has to be there, and later than any machine makes five pages. */
const FAR_SOONER_MS = 20_000

/** Takes connections and says nothing: a mail server, or the host of a client's document, that keeps others waiting. */
async function startSilence(): Promise<Server> {
  const server = createServer((socket) => {
    held.add(socket)
    socket.on('error', () => undefined).resume()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}
const portOf = (server: Server): number => (server.address() as AddressInfo).port

let service: ServiceProcess
let silence: Server
/** All that has to end with the tests. */
const held = new Set<Socket | ClientRequest>()
const over = new AbortController()

beforeAll(async () => {
  silence = await startSilence()
  service = await startServiceProcess({
    COINS: 'BTC,ETH',
    TIMEFRAMES: '1m,1h',
    WEBHOOKS_ALLOW_PRIVATE: 'true',
    SMTP_URL: `smtp://127.0.0.1:${portOf(silence)}`,
    MAIL_FROM: 'Signals <signals@example.com>',
  })
}, PATIENCE_MS)
afterAll(async () => {
  over.abort()
  for (const one of held) one.destroy()
  silence?.close()
  await service?.stop()
  service?.remove()
})

const target = () => ({ host: '127.0.0.1', port: Number(new URL(service.url).port) })

/** Opens a page as a browser does. @returns its status */
const open = (
  path: string,
  way: { localAddress?: string; socketPath?: string } = { localAddress: VISITOR },
) =>
  new Promise<number>((resolve, reject) => {
    const asked = get(
      { ...target(), ...way, path, headers: { accept: 'text/html', host: 'localhost' } },
      (answer) => void answer.resume().on('end', () => resolve(answer.statusCode ?? 0)),
    )
    held.add(asked.on('error', reject))
  })

const visit = async (): Promise<Record<string, number>> => {
  const seen = await Promise.all(PAGES.map(async (page) => [page, await open(page)] as const))
  const byOwner = await open('/operator', {
    socketPath: join(service.dataDirectory, 'simulated', 'owner.sock'),
  })
  return { ...Object.fromEntries(seen), owner: byOwner }
}
const ALL_SEEN = { ...Object.fromEntries(PAGES.map((page) => [page, 200])), owner: 200 }

/** A connection that says something and goes on a byte every two seconds. @returns once it is cut off */
function drip(
  localAddress: string,
  text: string,
): { readonly socket: Socket; readonly ended: Promise<void> } {
  const socket = connect({ ...target(), localAddress })
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

const SLOW_FORM =
  'POST /account/sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 60000\r\n\r\ne'

const slowForms = (count: number) =>
  Array.from({ length: count }, () => {
    const form = drip('127.0.9.1', SLOW_FORM)
    form.socket.resume()
    return form
  })

/** Asks again and again, each time for another document that never comes. */
async function slowDocuments(localAddress: string): Promise<void> {
  for (let n = 0; !over.signal.aborted; n++) {
    const client = `https://127.0.0.1:${portOf(silence)}/${localAddress}/${n}.json`
    await open(`/oauth/authorize?client_id=${encodeURIComponent(client)}`, { localAddress }).catch(() => 0)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** A whole form, whose mail does not leave. */
const slowMail = (localAddress: string, email: string) =>
  held.add(
    request({
      ...target(),
      localAddress,
      method: 'POST',
      path: '/account/sign-in',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        host: 'localhost',
        origin: 'http://localhost',
      },
    })
      .on('error', () => undefined)
      .end(new URLSearchParams({ email }).toString()),
  )

/** Asks for much, and reads none of it. */
const slowReaders = (count: number) => {
  for (let n = 0; n < count; n++) {
    const path = ['/track-record', '/series/SIM/BTC/1m', '/track-record/series.csv', '/api/verdicts'][n % 4]
    drip(`127.0.9.${30 + (n % 8)}`, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).socket.pause()
  }
}

describe('beside slow connections', () => {
  test('every page is answered before one of them has ended', { timeout: PATIENCE_MS }, async () => {
    // The owner's socket is opened a moment after the port.
    await expect.poll(() => visit().catch(String), { timeout: FAR_SOONER_MS }).toEqual(ALL_SEEN)
    const forms = slowForms(20)
    for (let n = 0; n < 16; n++) void slowDocuments(`127.0.9.${10 + (n % 8)}`)
    for (let n = 0; n < 16; n++) slowMail(`127.0.9.${40 + (n % 4)}`, `reader-${n}@example.com`)
    slowReaders(40)
    await new Promise((resolve) => setTimeout(resolve, 500))
    const end = AbortSignal.timeout(FAR_SOONER_MS)
    const firstEnd = Promise.race([
      ...forms.map(({ ended }) => ended.then(() => 'a slow form was cut off first')),
      new Promise((resolve) => end.addEventListener('abort', () => resolve('no pages for long'))),
    ])
    for (let n = 0; n < 3; n++) expect(await Promise.race([visit(), firstEnd])).toEqual(ALL_SEEN)
    for (const { socket } of forms) socket.destroy()
    expect(await Promise.race([visit(), firstEnd.then(visit)])).toEqual(ALL_SEEN)
  })
})
