import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findInspector } from './testing/inspector.fixture.ts'
import { createMcpEdge, listen } from './testing/mcp-edge.fixture.ts'

const LIMIT_MS = 60_000
/** The exit code of the inspector when a tool answers with `isError`. */
const TOOL_ERROR = 5

const program = findInspector()
const reason = program === undefined ? ' (skipped: the inspector is not installed)' : ''

describe.skipIf(program === undefined)(`the inspector's command line${reason}`, { timeout: LIMIT_MS }, () => {
  let app: FastifyInstance
  let url: string
  let home: string

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'inspector-'))
    app = await createMcpEdge()
    url = await listen(app)
  })
  afterAll(async () => {
    await app.close()
    rmSync(home, { recursive: true, force: true })
  })

  describe.each(['modern', 'legacy'])('%s era', (era) => {
    test('finds no fault in the schemas of the tools', async () => {
      const { code, output, errors } = await inspect(era, ['--method', 'tools/list', '--strict'])
      expect(code, errors).toBe(0)
      expect(JSON.parse(output).tools).toHaveLength(4)
    })

    test('calls a tool', async () => {
      const flags = '--method tools/call --tool-name get_trade_call --tool-arg coin=BTC'
      const { code, output } = await inspect(era, flags.split(' '))
      expect(code).toBe(0)
      expect(JSON.parse(output)).toMatchObject({ isError: false, structuredContent: { call: 'SELL' } })
    })

    test('sees a refusal as one', async () => {
      const { code, output } = await inspect(era, ['--method', 'tools/call', '--tool-name', 'get_trade_call'])
      expect(code).toBe(TOOL_ERROR)
      expect(output).toContain('MCP error -32602: coin')
    })
  })

  function inspect(
    era: string,
    flags: readonly string[],
  ): Promise<{ code: unknown; output: string; errors: string }> {
    const args = [program ?? '', '--cli', url, '--transport', 'http', '--protocol-era', era, ...flags]
    return new Promise((resolve) => {
      const options = { env: { PATH: process.env.PATH, HOME: home }, timeout: LIMIT_MS, maxBuffer: 8_388_608 }
      execFile(process.execPath, args, options, (error, output, errors) =>
        resolve({ code: error === null ? 0 : (error.code ?? error), output, errors }),
      )
    })
  }
})
