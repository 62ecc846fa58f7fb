import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createMcpEdge, fakeCalls, listen } from '../../services/mcp/testing/mcp-edge.fixture.ts'
import type { ToolCall } from '../../services/tool-calls/tool-call.ts'

const PACKAGE = resolve(import.meta.dirname, '../../clients/mcp')
const run = promisify(execFile)

let folder: string
let tarball: string
let program: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'client-stdio-'))
  await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: PACKAGE })
  tarball = join(folder, readdirSync(folder)[0] ?? '')
  await run('tar', ['-xzf', tarball, '-C', folder])
  program = join(folder, 'package/index.js')
}, 90_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the program for clients that start one', () => {
  let app: FastifyInstance
  let url: string
  let asked: ToolCall[]
  beforeAll(async () => {
    const calls = fakeCalls()
    asked = calls.asked
    app = await createMcpEdge({ calls: calls.path })
    url = (await listen(app)).replace(/\/mcp$/, '')
  })
  afterAll(() => app.close())

  const MODES = { modern: { pin: '2026-07-28' }, legacy: 'legacy' } as const
  test.each(Object.entries(MODES))('serves the official client, %s era', async (era, mode) => {
    const env = { SIGNAL_URL: `${url}/`, SIGNAL_API_KEY: 'sk_live_example' }
    const client = new Client({ name: 'referee', version: '1.0.0' }, { versionNegotiation: { mode } })
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [program], env }))
    try {
      expect(client.getNegotiatedProtocolVersion()).toBe(era === 'modern' ? '2026-07-28' : '2025-11-25')
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).toContain('get_trade_call')
      const before = asked.length
      const call = { name: 'get_trade_call', arguments: { coin: 'BTC', timeframe: '1h' } }
      const answers = await Promise.all([client.callTool(call), client.callTool(call)])
      for (const { structuredContent } of answers) expect(structuredContent).toMatchObject({ coin: 'BTC' })
      const keys = asked.slice(before).map(({ idempotencyKey }) => idempotencyKey)
      expect([keys.length, new Set(keys).size]).toEqual([2, 2])
      expect(asked.at(-1)).toMatchObject({ tool: 'get_trade_call', authorization: 'Bearer sk_live_example' })
    } finally {
      await client.close()
    }
  })

  /** The program's answers to some lines, until it has written a number of them. */
  async function said(lines: readonly string[], count: number, env: Record<string, string>) {
    const child = spawn(process.execPath, [program], { env: { PATH: process.env.PATH, ...env } })
    let out = ''
    child.stdout.on('data', (part: Buffer) => {
      out += part.toString()
      if (out.split('\n').length > count) child.stdin.end()
    })
    if (lines.length > 0) child.stdin.write(lines.map((line) => `${line}\n`).join(''))
    const code = await new Promise((done) => child.once('exit', done))
    return {
      code,
      answers: out
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as object),
    }
  }

  test('answers what is no message, and for a service that is away', async () => {
    const lines = ['{', '7', '{"jsonrpc":"2.0","id":4,"method":"ping"}']
    const { answers, code } = await said(lines, 3, { SIGNAL_URL: 'http://127.0.0.1:9' })
    expect([code, answers]).toEqual([
      0,
      [
        { jsonrpc: '2.0', id: null, error: expect.objectContaining({ code: -32_700 }) as unknown },
        { jsonrpc: '2.0', id: null, error: expect.objectContaining({ code: -32_600 }) as unknown },
        { jsonrpc: '2.0', id: 4, error: expect.objectContaining({ code: -32_000 }) as unknown },
      ],
    ])
  })

  test('passes a stream until it is cancelled, and answers that come after the end of its input', async () => {
    const gone: string[] = []
    const server = createServer((request, response) => {
      let body = ''
      request.on('data', (part: Buffer) => (body += part.toString()))
      request.on('end', () => {
        const { method } = JSON.parse(body) as { method: string }
        response.once('close', () => gone.push(method))
        if (method.startsWith('notifications/')) response.writeHead(202).end()
        else if (method === 'ping') response.end('{"jsonrpc":"2.0","id":2,"result":{}}')
        else {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.write('data: {"jsonrpc":"2.0","method":"a"}\n\n: nothing new\n\ndata: {"jsonrpc":"2.0",')
          response.write('"method":"b"}\n\n')
        }
      })
    }).listen(0, '127.0.0.1')
    await new Promise((done) => server.once('listening', done))
    const env = { SIGNAL_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
    const child = spawn(process.execPath, [program], { env })
    try {
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      const next = async () =>
        JSON.parse((await lines.next()).value as string) as { method?: string; id?: number }
      child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}\n')
      expect([(await next()).method, (await next()).method]).toEqual(['a', 'b'])
      const cancelled = { method: 'notifications/cancelled', params: { requestId: 1 } }
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...cancelled })}\n`)
      await vi.waitUntil(() => gone.includes('subscriptions/listen'), { timeout: 20_000 })
      child.stdin.write('{"jsonrpc":"2.0","id":2,"method":"ping"}\n')
      child.stdin.end()
      const ended = new Promise((done) => child.once('exit', done))
      expect((await next()).id).toBe(2)
      expect(await ended).toBe(0)
    } finally {
      child.kill()
      server.closeAllConnections()
      server.close()
    }
  })

  test('says how it is used where no address is given, also when npx starts its tarball', async () => {
    expect(await said([], 0, {})).toEqual({ code: 2, answers: [] })
    const env = { PATH: process.env.PATH, npm_config_cache: join(folder, 'npm') }
    const started = run('npx', ['--yes', '--offline', '--package', tarball, 'signal-service-mcp'], {
      cwd: folder,
      env,
    })
    await expect(started).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Set SIGNAL_URL') as unknown,
    })
  })
})
