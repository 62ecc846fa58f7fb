import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSlowness, openPage, startSilence } from '../http/testing/slow-connections.fixture.ts'
import { type ServiceProcess, startServiceProcess } from '../http/testing/start-service-process.ts'

/** A process of its own beside other tests takes its time to start. */
const PATIENCE_MS = 120_000
/** Sooner than a form has to be there, and later than any machine makes some pages. */
const FAR_SOONER_MS = 20_000
const PAGES = ['/account', '/track-record', '/series/SIM/BTC/1h', '/webhooks']
const ALL_SEEN = { ...Object.fromEntries(PAGES.map((page) => [page, 200])), owner: 200 }

let service: ServiceProcess
let silence: Awaited<ReturnType<typeof startSilence>>
let slowness: ReturnType<typeof createSlowness>

beforeAll(async () => {
  silence = await startSilence()
  service = await startServiceProcess({
    COINS: 'BTC,ETH',
    TIMEFRAMES: '1m,1h',
    WEBHOOKS_ALLOW_PRIVATE: 'true',
    SMTP_URL: `smtp://127.0.0.1:${silence.port}`,
    MAIL_FROM: 'Signals <signals@example.com>',
  })
  slowness = createSlowness(service.url, silence.port)
}, PATIENCE_MS)
afterAll(async () => {
  slowness?.stop()
  silence?.stop()
  await service?.stop()
  service?.remove()
})

/** The status of each page to a visitor, and of one to the owner. */
const visit = async (): Promise<Record<string, number>> => {
  const visitor = { localAddress: '127.0.9.99' }
  const seen = await Promise.all(
    PAGES.map(async (page) => [page, await openPage(service.url, page, visitor)] as const),
  )
  const socketPath = join(service.dataDirectory, 'simulated', 'owner.sock')
  return { ...Object.fromEntries(seen), owner: await openPage(service.url, '/track-record', { socketPath }) }
}

test('every page is answered before one of many slow connections has ended', {
  timeout: PATIENCE_MS,
}, async () => {
  // The owner's socket is opened a moment after the port.
  await expect.poll(() => visit().catch(String), { timeout: FAR_SOONER_MS }).toEqual(ALL_SEEN)
  const forms = slowness.forms(20)
  slowness.documents(16)
  slowness.mails(16)
  slowness.readers(40)
  await new Promise((resolve) => setTimeout(resolve, 500))
  const end = AbortSignal.timeout(FAR_SOONER_MS)
  const firstEnd = Promise.race([
    ...forms.map(({ ended }) => ended.then(() => 'a slow form was cut off first')),
    new Promise((resolve) => end.addEventListener('abort', () => resolve('no pages for long'))),
  ])
  for (let n = 0; n < 3; n++) expect(await Promise.race([visit(), firstEnd])).toEqual(ALL_SEEN)
  for (const { socket } of forms) socket.destroy()
  expect(await visit()).toEqual(ALL_SEEN)
})
