import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ask, asking, Browser, CLIENT_ID, callTool, exchanging } from './testing/oauth-service.fixture.ts'

const CHILD = join(import.meta.dirname, 'testing/oauth-crash-child.ts')
const EMAIL = 'ada@example.com'

let folder: string
let port: number
let url: string
let child: ChildProcess | undefined
let mails: { to: string; text: string }[]

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'oauth-crash-'))
  mails = []
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
  url = `http://127.0.0.1:${port}`
  server.close()
  await once(server, 'close')
})
afterEach(async () => {
  await stop()
  rmSync(folder, { recursive: true, force: true })
})

async function stop(): Promise<void> {
  if (child?.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'close')
}

/** Starts the service at the same address, over the same log. @param crash at which append it kills itself */
async function start(
  crash: readonly [type: string, which: number, place: string] = ['', 0, ''],
): Promise<void> {
  await stop()
  const started = spawn(process.execPath, [CHILD, folder, String(port), ...crash.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child = started
  await new Promise<void>((listening) => {
    createInterface({ input: started.stdout }).on('line', (line) => {
      if (line.startsWith('listening ')) listening()
      if (line.startsWith('mail '))
        mails.push(JSON.parse(line.slice('mail '.length)) as (typeof mails)[number])
    })
  })
}

const killed = async (): Promise<void> => {
  if (child?.signalCode === null && child.exitCode === null) await once(child, 'close')
  expect(child?.signalCode).toBe('SIGKILL')
}
/** The result of a request, or the death of its process. */
const orDied = <Answer>(request: Promise<Answer>): Promise<Answer | 'died'> =>
  request.catch(() => 'died' as const)

const browser = (): Browser =>
  new Browser({
    url,
    world: {
      codeFor(to) {
        const mail = mails.findLast((one) => one.to === to)
        return /\b[0-9A-Z]{5}-[0-9A-Z]{5}\b/.exec(mail?.text ?? '')?.[0] ?? expect.fail('no mail')
      },
    },
  })
const codeOf = (sentTo: URL | 'died'): string =>
  sentTo === 'died' ? expect.fail('it died') : (sentTo.searchParams.get('code') ?? '')
const letIn = (): Promise<URL> => browser().letIn(asking(url), EMAIL)
const exchange = (code: string) => ask(url, exchanging(code))
const refresh = (token = '') =>
  ask(url, { grant_type: 'refresh_token', refresh_token: token, client_id: CLIENT_ID })
const isLetIn = async (token: string | undefined): Promise<boolean> =>
  (await callTool(url, token)).status === 200
const refusal = ({ status, body }: Awaited<ReturnType<typeof ask>>) => [status, body.error]

describe.each(['before', 'behind'] as const)('a service that is killed %s', (place) => {
  const isRecorded = place === 'behind'

  test('the yes to a program: who says it again has a code that is good once', {
    timeout: 60_000,
  }, async () => {
    await start(['AppAuthorized', 1, place])
    expect(await orDied(letIn())).toBe('died')
    await killed()
    await start()
    const code = codeOf(await letIn())
    const { status, body } = await exchange(code)
    expect(status).toBe(200)
    expect(await isLetIn(body.access_token)).toBe(true)
    expect(refusal(await exchange(code))).toEqual([400, 'invalid_grant'])
    // A code that comes twice may be a thief's: what it was exchanged for ends.
    expect(await isLetIn(body.access_token)).toBe(false)
  })

  test('the exchange of a code: it is exchanged once, before or after, and never again', {
    timeout: 60_000,
  }, async () => {
    await start(['AppTokenIssued', 1, place])
    const code = codeOf(await letIn())
    expect(await orDied(exchange(code))).toBe('died')
    await killed()
    await start()
    const again = await exchange(code)
    if (isRecorded) {
      expect(refusal(again)).toEqual([400, 'invalid_grant'])
    } else {
      expect(again.status).toBe(200)
      expect(await isLetIn(again.body.access_token)).toBe(true)
    }
    expect(refusal(await exchange(code))).toEqual([400, 'invalid_grant'])
    // Whoever was refused signs in anew, and goes on.
    const { body } = await exchange(codeOf(await letIn()))
    expect(await isLetIn(body.access_token)).toBe(true)
  })

  test('the turn of a refresh token: the old one is good once, before or after, and never again', {
    timeout: 60_000,
  }, async () => {
    await start(['AppTokenIssued', 2, place])
    const first = (await exchange(codeOf(await letIn()))).body
    expect(await orDied(refresh(first.refresh_token))).toBe('died')
    await killed()
    await start()
    // An access token that was handed out before is good over the death of the process.
    expect(await isLetIn(first.access_token)).toBe(true)
    const again = await refresh(first.refresh_token)
    if (isRecorded) {
      expect(refusal(again)).toEqual([400, 'invalid_grant'])
      expect(await isLetIn(first.access_token)).toBe(false)
    } else {
      expect(again.status).toBe(200)
      expect(await isLetIn(again.body.access_token)).toBe(true)
      expect(refusal(await refresh(first.refresh_token))).toEqual([400, 'invalid_grant'])
      expect(refusal(await refresh(again.body.refresh_token))).toEqual([400, 'invalid_grant'])
      expect(await isLetIn(again.body.access_token)).toBe(false)
    }
  })
})
