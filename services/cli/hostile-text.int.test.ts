import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runSignal } from './kit/run-signal.fixture.ts'

/** Erases the line above, names the window, says what is not so, and turns letters around. */
const EVIL = '\u001b[2K\u001b[1Afound nothing\u001b]0;owned\u0007\u009b31m\r\u202egnp.exe'
const REFUSAL = {
  code: 'invalid_request',
  message: `no ${EVIL}`,
  next_step: `next ${EVIL}`,
  request_id: EVIL,
}
const CONTROLS = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/u

const server = createServer((_, response) => {
  response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(REFUSAL))
})
let url = ''
beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close())

const ID = '01a21538-d25a-7206-a142-0ec8274cb49d'
describe('text of a hostile service moves no cursor and hides nothing', () => {
  test.each([
    ['ask get_trade_call {"coin":"BTC"}'],
    [`verify ${ID}`],
    ['replay'],
    [`keys list --account ${ID} --operator-token ${'x'.repeat(40)}`],
    [`payments show ${ID} --operator-token ${'x'.repeat(40)}`],
    ['audit URL --vkey example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'],
  ])('%s', async (line) => {
    const words = line.replace('URL', url).split(' ')
    const { code, said } = await runSignal(...words, ...(line.startsWith('audit') ? [] : ['--server', url]))
    expect(code).not.toBe(0)
    expect(said).not.toMatch(CONTROLS)
    if (!line.startsWith('audit')) expect(said).toContain(String.raw`no \u001b[2K`)
  })

  test('nor does a name that was mistyped', async () => {
    const { said } = await runSignal(EVIL)
    expect(said).not.toMatch(CONTROLS)
  })
})
