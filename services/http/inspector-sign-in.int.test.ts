import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { freePort } from '../../testing/servers/server-port.ts'
import { findInspector } from '../mcp/testing/inspector.fixture.ts'
import { Browser, startOAuthService } from './testing/oauth-service.fixture.ts'

const LIMIT_MS = 60_000
const program = findInspector()
const reason = program === undefined ? ' (skipped: the inspector is not installed)' : ''

test.skipIf(program === undefined)(
  `the inspector registers itself, is let in by a browser, and calls for that account${reason}`,
  { timeout: LIMIT_MS },
  async () => {
    const service = await startOAuthService()
    const home = mkdtempSync(join(tmpdir(), 'inspector-'))
    const callback = `http://127.0.0.1:${await freePort()}/oauth/callback`
    // Nothing on this path opens a browser: the address is read from what it prints.
    const env = { HOME: home, PATH: home, MCP_AUTO_OPEN_ENABLED: 'true' }
    const flags = '--method tools/call --tool-name get_trade_call --tool-arg coin=BTC --callback-url'.split(
      ' ',
    )
    const args = [program ?? '', '--cli', `${service.url}/mcp?auth=required`, ...flags, callback]
    let opened: Promise<Response> | undefined
    const output = await new Promise<string>((resolve, reject) => {
      let said = ''
      const child = execFile(process.execPath, args, { env, timeout: LIMIT_MS }, (error, text) =>
        error === null ? resolve(text) : reject(new Error(said, { cause: error })),
      )
      child.stderr?.on('data', (text: Buffer) => {
        said += text.toString()
        const query = /oauth\/authorize\?(\S+)\s/u.exec(said)?.[1]
        if (query === undefined || opened !== undefined) return
        expect(new URLSearchParams(query).get('client_id')).toMatch(/^src_/u)
        opened = new Browser(service).letIn(query).then((sentTo) => fetch(sentTo))
        opened.catch(reject)
      })
    })
    expect((await opened)?.status).toBe(200)
    expect(JSON.parse(output)).toMatchObject({ isError: false, structuredContent: { call: 'SELL' } })
    const { accountId } = await service.world.signIn(service.accounts, 'ada@example.com')
    expect(service.calls.map(({ payer }) => payer)).toEqual([accountId])
    rmSync(home, { recursive: true, force: true })
    await service.stop()
  },
)
