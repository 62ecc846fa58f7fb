import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { freePort } from '../../testing/servers/server-port.ts'
import { findSuite } from '../mcp/testing/conformance/find-suite.ts'
import {
  Browser,
  CLIENT_ID,
  clientDocument,
  type OAuthService,
  startOAuthService,
} from './testing/oauth-service.fixture.ts'

const suite = findSuite()
const reason = suite === undefined ? ' (skipped: the conformance suite is not installed)' : ''

/**
 * The suite prints an address for a browser, and waits at a port of its own for what that is sent back with. The browser of
 * the test goes there: it gives the code that was mailed and says yes.
 */
describe.skipIf(suite === undefined)(`the official scenarios of authorization servers${reason}`, () => {
  let service: OAuthService
  let folder: string
  let running: ChildProcess | undefined

  beforeAll(async () => {
    service = await startOAuthService()
    folder = mkdtempSync(join(tmpdir(), 'authorization-'))
  })
  afterAll(async () => {
    running?.kill('SIGKILL')
    await service.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  /** @param onAddress told of each address that the suite asks to have opened */
  async function run(
    flags: readonly string[],
    onAddress: (address: URL) => Promise<unknown>,
  ): Promise<{ code: unknown; output: string }> {
    const args = [suite ?? '', 'authorization', '--url', service.url, '-o', folder, ...flags]
    const child = spawn(process.execPath, args, { cwd: folder })
    running = child
    const lines: string[] = []
    const visits: Promise<unknown>[] = []
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', (line) => {
        lines.push(line)
        if (line.startsWith(`${service.url}/oauth/authorize?`)) visits.push(onAddress(new URL(line)))
      })
    const [code] = await once(child, 'close')
    await Promise.all(visits)
    return { code, output: lines.join('\n') }
  }

  test.each(['2025-11-25', '2026-07-28'])(
    'find nothing wanting of what %s requires, up to a token for this resource',
    { timeout: 90_000 },
    async (revision) => {
      const port = await freePort()
      const redirect = `http://127.0.0.1:${port}/callback`
      service.documents.set(CLIENT_ID, clientDocument({ redirect_uris: [redirect] }))
      service.world.now += 120_000
      const flags = ['--client-id', CLIENT_ID, '--resource', `${service.url}/mcp`, '--port', String(port)]
      const { code, output } = await run([...flags, '--spec-version', revision], async ({ search }) => {
        const browser = new Browser(service)
        const sentTo = await browser.letIn(search.slice(1), `ada-${revision}@example.com`)
        // The suite writes the address before it listens for what comes back.
        await vi.waitUntil(() => fetch(sentTo).then(Boolean, () => false), { timeout: 60_000 })
      })
      expect(code, output).toBe(0)
      // A run that skipped both would end well too.
      for (const scenario of ['authorization-server-metadata-endpoint', 'authorization-code-grant'])
        expect(output, output).toMatch(new RegExp(`${scenario}: [1-9] passed, 0 failed`))
    },
  )
})
