import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../servers/server-port.ts'
import { pythonWith } from './python.fixture.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const MODULES = join(ROOT, 'node_modules')
const run = promisify(execFile)
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)
const BUILDER = pythonWith('setuptools', 'wheel', 'pip')
const without = (what: string | undefined, name: string): string =>
  what === undefined ? ` (skipped: ${name} is not installed)` : ''

/** Blocks of code in a page, by the first line that imports a module. */
function example(page: string, names: string): string {
  const blocks = readFileSync(join(ROOT, page), 'utf8').matchAll(/```(?:ts|python)\n([\s\S]*?)```/g)
  return [...blocks].map(([, code = '']) => code).find((code) => code.includes(names)) ?? expect.fail(names)
}

let folder: string
/** Answers every tool as if it was asked for a trade call, and every list with one row. */
let service: Server
let url: string
const SECRET = 'whsec_c2VjcmV0'
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'client-packages-'))
  service = createServer((request, response) => {
    const row = { verdict_id: 'a', cursor: '1', coin: 'BTC', bar_close: '2026-01-01T00:00:00.000Z' }
    const page = request.url === '/page'
    response.setHeader('content-type', page ? 'text/html' : 'application/json')
    if (request.url?.startsWith('/client/') === true) {
      response.setHeader('content-type', 'text/javascript')
      const name = request.url.slice('/client/'.length)
      response.end(readFileSync(join(folder, 'node_modules/signal-service-client/dist', name)))
    } else if (request.url === '/mcp')
      response.end(JSON.stringify({ result: { structuredContent: { call: 'BUY', coin: 'BTC' } } }))
    else response.end(page ? '<!doctype html><title>client</title>' : JSON.stringify(row))
  }).listen(0, '127.0.0.1')
  await new Promise((done) => service.once('listening', done))
  url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
})
afterAll(() => {
  service.closeAllConnections()
  service.close()
  rmSync(folder, { recursive: true, force: true })
})

const body = JSON.stringify({
  event: 'trade_call',
  delivery_id: 'd',
  created_at: 'now',
  data: { coin: 'BTC' },
})
function delivery(secret = SECRET): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1_000))
  const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')
  return {
    'content-type': 'application/json',
    'X-Service-Event': 'trade_call',
    'X-Service-Delivery': 'd',
    'X-Service-Timestamp': timestamp,
    'X-Service-Signature': signature,
  }
}

describe('the package for Node.js and browsers', () => {
  let files: string[]
  const installed = () => join(folder, 'node_modules/signal-service-client')
  beforeAll(async () => {
    const source = join(folder, 'source')
    cpSync(join(ROOT, 'clients/typescript'), source, {
      recursive: true,
      filter: (path) => !path.endsWith('/dist') && !path.endsWith('.tgz'),
    })
    const env = { ...process.env, PATH: `${join(MODULES, '.bin')}:${process.env.PATH}` }
    await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: source, env })
    const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
    mkdirSync(installed(), { recursive: true })
    await run('tar', ['-xzf', join(folder, tarball), '-C', installed(), '--strip-components=1'])
    files = readdirSync(installed(), { recursive: true, encoding: 'utf8' })
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  }, 90_000)

  test('has compiled modules with their types, and no dependency', () => {
    const modules = readdirSync(join(ROOT, 'clients/typescript/src')).map((name) => name.slice(0, -3))
    const built = modules.flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`])
    expect(files.toSorted()).toEqual(['README.md', 'dist', 'package.json', ...built].toSorted())
    const manifest = JSON.parse(readFileSync(join(installed(), 'package.json'), 'utf8')) as object
    expect(manifest).not.toHaveProperty('dependencies')
    const { peerDependenciesMeta: optional } = manifest as { peerDependenciesMeta: object }
    expect(optional).toEqual({ viem: { optional: true } })
    for (const name of modules)
      for (const [, imported] of readFileSync(join(installed(), `dist/${name}.js`), 'utf8').matchAll(
        / from '([^']+)'/g,
      ))
        expect(imported).toMatch(/^\.\/[\w-]+\.js$/)
  })

  test('is imported by a program in a fresh folder, with its types', async () => {
    writeFileSync(
      join(folder, 'program.ts'),
      `import { createSignalClient, type TradeCall, SignalRefusal, verifyWebhook } from 'signal-service-client'
const [url = ''] = process.argv.slice(2)
const signals = createSignalClient({ url })
const answer: TradeCall = await signals.getTradeCall({ coin: 'BTC', timeframe: '1h' })
// @ts-expect-error there is no such timeframe
const wrong = () => signals.getTradeCall({ coin: 'BTC', timeframe: '7h' })
const { next }: { next: string | null } = await signals.listWebhooks()
const usage: Readonly<Record<string, unknown>> = await signals.usage()
const code = await verifyWebhook({ secret: '', headers: {}, body: '' }).catch((error: unknown) => error instanceof SignalRefusal && error.code)
console.log(JSON.stringify([answer.call, next === undefined, usage.coin, code, typeof wrong]))
`,
    )
    const { stdout } = await run(process.execPath, ['program.ts', url], { cwd: folder })
    expect(JSON.parse(stdout)).toEqual(['BUY', true, 'BTC', 'webhook_invalid', 'function'])
    const check = ['--noEmit', '--strict', '--target', 'es2023', '--module', 'nodenext', '--types', 'node']
    const types = ['--typeRoots', join(MODULES, '@types'), '--lib', 'es2023,dom,dom.asynciterable']
    await run(join(MODULES, '.bin/tsc'), [...check, ...types, 'program.ts'], { cwd: folder })
  })

  test.skipIf(CHROMIUM === undefined)(
    `runs in a page of a browser${without(CHROMIUM, 'Chromium')}`,
    async () => {
      const browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] })
      try {
        const page = await browser.newPage()
        await page.goto(`${url}/page`)
        const found = await page.evaluate(
          `import('/client/index.js').then(async ({ createSignalClient, verifyWebhook }) => {
            const signals = createSignalClient({ url: location.origin })
            const webhook = await verifyWebhook(${JSON.stringify({ secret: SECRET, headers: delivery(), body })})
            return [(await signals.getTradeCall({ coin: 'BTC' })).call, webhook.data.coin]
          })`,
        )
        expect(found).toEqual(['BUY', 'BTC'])
      } finally {
        await browser.close()
      }
    },
  )

  describe.each(['fastify', 'express'])('takes webhooks in %s as its page shows', (framework) => {
    const found = existsSync(join(MODULES, framework)) ? framework : undefined
    test.skipIf(found === undefined)(`genuine ones alone${without(found, framework)}`, async () => {
      const file = join(folder, `${framework}.mjs`)
      writeFileSync(file, example('clients/typescript/README.md', `from '${framework}'`))
      const target = join(folder, 'node_modules', framework)
      if (!existsSync(target)) symlinkSync(join(MODULES, framework), target)
      const port = await freePort()
      const receiver = spawn(process.execPath, [file], {
        env: { PATH: process.env.PATH, PORT: String(port), WEBHOOK_SECRET: SECRET },
      })
      try {
        expect(await received(receiver, `http://127.0.0.1:${port}/hook`)).toEqual([
          204,
          401,
          401,
          'trade_call',
        ])
      } finally {
        receiver.kill()
      }
    })
  })
})

/** Statuses for a delivery as it is, one of another secret and one of another body, and the word that the first printed. */
async function received(receiver: ChildProcess, hook: string): Promise<unknown[]> {
  let out = ''
  receiver.stdout?.on('data', (part: Buffer) => (out += part.toString()))
  const send = async (headers: Record<string, string>, text = body): Promise<number> => {
    for (;;) {
      const answer = await fetch(hook, { method: 'POST', headers, body: text }).catch(() => undefined)
      if (answer !== undefined) return answer.status
      if (receiver.exitCode !== null) throw new Error(`it ended with ${receiver.exitCode}`)
      await setTimeout(50)
    }
  }
  const statuses = [await send(delivery())]
  statuses.push(await send(delivery('whsec_other')), await send(delivery(), body.replace('BTC', 'ETH')))
  while (statuses[0] === 204 && !out.includes('\n')) await setTimeout(20)
  return [...statuses, out.split(' ')[0]]
}

describe('the package for Python', () => {
  const site = () => join(folder, 'site')
  const environment = () => ({ PATH: process.env.PATH, PYTHONPATH: site(), WEBHOOK_SECRET: SECRET })
  const python = async (command: string, program: string): Promise<string> =>
    (await run(command, ['-c', program, url], { env: environment(), cwd: folder })).stdout

  beforeAll(async () => {
    if (BUILDER === undefined) return cpSync(join(ROOT, 'clients/python'), site(), { recursive: true })
    const source = join(folder, 'python')
    cpSync(join(ROOT, 'clients/python'), source, { recursive: true })
    const build = `from setuptools import build_meta\nfor build in (build_meta.build_sdist, build_meta.build_wheel): build("${folder}")`
    await run(BUILDER, ['-c', build], { cwd: source })
    const [wheel = ''] = readdirSync(folder).filter((name) => name.endsWith('.whl'))
    await run(BUILDER, [
      '-m',
      'pip',
      'install',
      '--no-index',
      '--no-deps',
      '--target',
      site(),
      join(folder, wheel),
    ])
  }, 90_000)

  test.skipIf(BUILDER === undefined)(
    `is built as wheel and sdist, typed and without a dependency${without(BUILDER, 'setuptools')}`,
    async () => {
      const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
      const name = `signal_service_client-${version}`
      expect(readdirSync(folder)).toContain(`${name}-py3-none-any.whl`)
      const inside = ['__init__.py', 'answers.py', 'py.typed']
      expect(readdirSync(join(site(), 'signal_client'))).toEqual(expect.arrayContaining(inside))
      const metadata = readFileSync(join(site(), `${name}.dist-info/METADATA`), 'utf8')
      expect(metadata.replaceAll(/[()]/g, '').match(/^Requires-Dist: .*$/gm)).toEqual([
        "Requires-Dist: pandas >=1.5 ; extra == 'pandas'",
        "Requires-Dist: polars >=1 ; extra == 'polars'",
      ])
      const sdist = readdirSync(folder).find((file) => file.endsWith('.tar.gz')) ?? ''
      const { stdout } = await run('tar', ['-tzf', join(folder, sdist)])
      expect(stdout).toContain('/pyproject.toml')
      for (const file of inside) expect(stdout).toContain(`/signal_client/${file}`)
      const asked = await python(
        BUILDER ?? '',
        'import sys, signal_client\nprint(signal_client.SignalClient(sys.argv[1]).get_trade_call(coin="BTC")["call"])',
      )
      expect(asked).toBe('BUY\n')
    },
  )

  const mypy = pythonWith('mypy')
  test.skipIf(mypy === undefined)(
    `tells a checker of types what it takes and gives${without(mypy, 'mypy')}`,
    async () => {
      const program = `from signal_client import SignalClient, TradeCall
answer: TradeCall = SignalClient("x").get_trade_call(coin="BTC")
wrong: int = answer["call"]
SignalClient("x").get_webhook()
reveal_type(SignalClient("x").bars("SIM", "BTC", "1h", "a", "b"))
for row in SignalClient("x").follow():
    reveal_type(row)
`
      writeFileSync(join(folder, 'typed.py'), program)
      const { stdout } = spawnSync(mypy ?? '', ['-m', 'mypy', '--python-version', '3.10', 'typed.py'], {
        cwd: folder,
        env: { ...environment(), MYPYPATH: '' },
        encoding: 'utf8',
      })
      const lines = stdout.match(/typed\.py:\d+: (?:error|note: Revealed)/g)
      expect(lines).toEqual([
        'typed.py:3: error',
        'typed.py:4: error',
        'typed.py:5: note: Revealed',
        'typed.py:7: note: Revealed',
      ])
      expect(stdout).toMatch(/Bars[\s\S]*Verdict/)
    },
  )

  const rows = `rows = [
  {"coin": "BTC", "bar_close": "2026-01-01T00:00:00.000Z", "decided_at": None, "expected_range": {"p10": -0.1}},
  {"coin": "BTC", "bar_close": "2026-01-01T01:00:00.000Z", "decided_at": "2026-01-01T02:00:00.000Z", "expected_range": None},
]
`
  const pandas = pythonWith('pandas')
  test.skipIf(pandas === undefined)(`makes tables of pandas${without(pandas, 'pandas')}`, async () => {
    const said = await python(
      pandas ?? '',
      `from signal_client import to_df\n${rows}
frame = to_df(iter(rows))
print(frame.dtypes["bar_close"], frame.dtypes["decided_at"], int(frame["decided_at"].isna().sum()), len(to_df([])))
print(to_df([{"openTime": 3600000}])["openTime"][0])`,
    )
    expect(said).toBe('datetime64[ns, UTC] datetime64[ns, UTC] 1 0\n1970-01-01 01:00:00+00:00\n')
  })

  const polars = pythonWith('polars')
  test.skipIf(polars === undefined)(`makes tables of Polars${without(polars, 'polars')}`, async () => {
    const said = await python(
      polars ?? '',
      `from signal_client import to_df\n${rows}
frame = to_df(iter(rows), "polars")
print(frame["bar_close"].dtype.time_zone, frame["decided_at"].null_count(), len(to_df([], "polars")))`,
    )
    expect(said).toBe('UTC 1 0\n')
  })

  const flask = pythonWith('flask')
  test.skipIf(flask === undefined)(
    `takes webhooks in Flask as its page shows${without(flask, 'Flask')}`,
    async () => {
      const code = example('clients/python/README.md', 'from flask')
      const said = await python(
        flask ?? '',
        `${code}
import json
given = json.loads(${JSON.stringify(JSON.stringify([body, delivery(), delivery('whsec_other')]))})
client = app.test_client()
print([client.post("/hook", data=given[0], headers=headers).status_code for headers in given[1:]])`,
      )
      expect(said).toBe("trade_call {'coin': 'BTC'}\n[204, 401]\n")
    },
  )

  const fastapi = pythonWith('fastapi')
  test.skipIf(fastapi === undefined)(
    `takes webhooks in FastAPI as its page shows${without(fastapi, 'FastAPI')}`,
    async () => {
      const code = example('clients/python/README.md', 'from fastapi')
      const said = await python(
        fastapi ?? '',
        `${code}
import asyncio, json
given = json.loads(${JSON.stringify(JSON.stringify([body, delivery(), delivery('whsec_other')]))})
async def post(headers):
    sent = []
    scope = {"type": "http", "method": "POST", "path": "/hook", "query_string": b"", "http_version": "1.1",
             "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()]}
    async def receive():
        return {"type": "http.request", "body": given[0].encode(), "more_body": False}
    async def send(message):
        sent.append(message)
    await app(scope, receive, send)
    return sent[0]["status"]
print([asyncio.run(post(headers)) for headers in given[1:]])`,
      )
      expect(said).toBe("trade_call {'coin': 'BTC'}\n[204, 401]\n")
    },
  )
})
