import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findOwnNode, isRuntimeSound } from '../../services/own-node.js'

/** Makes a process say that it is Node.js 20, and on another system where it is told so. */
const PRETENCE = `
const versions = { ...process.versions, node: '20.20.2' }
Object.defineProperty(process, 'versions', { value: versions })
if (process.env.PRETEND_ARCHITECTURE) Object.defineProperty(process, 'arch', { value: process.env.PRETEND_ARCHITECTURE })
`

/** A loop that is hot while it runs, and what V8 prints when Maglev replaces it. */
const LOOP = 'let sum = 0; for (let i = 0; i < 1e7; i++) sum += i % 3; console.log("summed", sum)'
const REPLACED = '(target MAGLEV) OSR'

const own = findOwnNode()
const manifest = join(own ?? '', '../../package.json')
const isThere = existsSync(manifest)
const reason = isThere ? '' : ' (skipped: no Node.js comes along for this system)'

let directory: string
let children: ChildProcess[]
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'own-node-'))
  writeFileSync(join(directory, 'pretence.cjs'), PRETENCE)
  children = []
})
afterEach(() => {
  for (const child of children) if (child.exitCode === null) child.kill('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
})

/** A script as it starts on an older Node.js. */
function startOnOlderNode(script: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}) {
  const child = spawn(
    process.execPath,
    [
      '--require',
      join(directory, 'pretence.cjs'),
      join(import.meta.dirname, '../../services', script),
      ...args,
    ],
    { stdio: ['pipe', 'pipe', 'pipe'], env: { PATH: process.env.PATH, ...environment } },
  )
  children.push(child)
  const output = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.out += text
    child.emit('output')
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.err += text
  })
  const ended = once(child, 'close').then(() => ({
    code: child.exitCode,
    signal: child.signalCode,
    ...output,
  }))
  async function until(pattern: RegExp): Promise<RegExpExecArray> {
    const match = pattern.exec(output.out)
    if (match !== null) return match
    await Promise.race([
      once(child, 'output'),
      ended.then(({ out, err }) => Promise.reject(new Error(`ended without ${pattern}: ${out}${err}`))),
    ])
    return until(pattern)
  }
  return { child, ended, until }
}

const ownVersion = (): string =>
  (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }).version
const evaluate = (code: string, environment?: NodeJS.ProcessEnv) =>
  startOnOlderNode('with-own-node.js', ['--eval', code], environment)

describe.skipIf(!isThere)(`on an older Node.js${reason}`, () => {
  test('the service runs on the one that came along, and a stop reaches it', async () => {
    const args = ['--port', '0', '--coins', 'BTC', '--data-dir', join(directory, 'data')]
    const service = startOnOlderNode('start.js', args)
    const [url] = await service.until(/http:[^ ]*\d(?=\/ )/)
    expect((await fetch(`${url}/livez`)).status).toBe(200)
    service.child.kill('SIGTERM')
    expect(await service.ended).toMatchObject({ code: 0, signal: null, err: '' })
    await expect(fetch(`${url}/livez`)).rejects.toThrow()
  })

  test('the service ends when the process that started it is killed', async () => {
    const args = ['--port', '0', '--coins', 'BTC', '--data-dir', join(directory, 'data')]
    const service = startOnOlderNode('start.js', args)
    const [url] = await service.until(/http:[^ ]*\d(?=\/ )/)
    service.child.kill('SIGKILL')
    // The end of its output, which the service shares, is the end of both.
    await service.ended
    await expect(fetch(`${url}/livez`)).rejects.toThrow()
  })

  test('the command line does, with its exit code', async () => {
    const help = await startOnOlderNode('signal.js', ['help']).ended
    expect(help).toMatchObject({ code: 0, err: '' })
    expect(help.out).toContain('keys create')
    const unknown = await startOnOlderNode('signal.js', ['no-such-command']).ended
    expect(unknown.code).toBe(2)
    expect(unknown.err).toContain('config_invalid')
  })

  test('input, output and the version are those of the one that came along', async () => {
    const run = evaluate(
      'process.stdin.on("data", (text) => console.log(process.versions.node, String(text)))',
    )
    run.child.stdin.end('hello')
    const { code, out } = await run.ended
    expect([code, out.trim()]).toEqual([0, `${ownVersion()} hello`])
  })

  test('a loop that runs is never replaced by code of Maglev', async () => {
    const { out } = await startOnOlderNode('with-own-node.js', ['--trace-opt', '--eval', LOOP]).ended
    expect(out).toContain('summed')
    expect(out).not.toContain(REPLACED)
  })

  test.each([
    ['an exit code', 'process.exit(7)', { code: 7, signal: null }],
    ['an uncaught error', 'throw new Error("no")', { code: 1, signal: null }],
    ['a signal', 'process.kill(process.pid, "SIGKILL")', { code: 137, signal: null }],
  ])('%s is passed on', async (_what, code, end) => {
    expect(await evaluate(code).ended).toMatchObject(end)
  })

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s comes once', async (name) => {
    const run = evaluate(`
      let count = 0
      process.on('${name}', () => { count++; setTimeout(() => process.exit(40 + count), 300) })
      setInterval(() => undefined, 1_000)
      console.log('waiting')`)
    await run.until(/waiting/)
    run.child.kill(name)
    expect((await run.ended).code).toBe(41)
  })

  test('what is started by the name of node is the one that came along', async () => {
    const run = evaluate(
      'console.log(require("node:child_process").execFileSync("node", ["--version"], { encoding: "utf8" }))',
    )
    expect((await run.ended).out.trim()).toBe(`v${ownVersion()}`)
  })
})

test.skipIf(!isRuntimeSound())('nor is it on a Node.js that is taken as it is', () => {
  const traced = (code: string): string =>
    execFileSync(process.execPath, ['--trace-opt', '--input-type=module', '--eval', code], {
      encoding: 'utf8',
    })
  expect(traced(LOOP)).toContain(REPLACED)
  const flags = new URL('../../services/own-node.js', import.meta.url).href
  expect(traced(`await import('${flags}'); ${LOOP}`)).not.toContain(REPLACED)
})

test('a system without one is told where to get it', async () => {
  const { code, err } = await startOnOlderNode('start.js', [], { PRETEND_ARCHITECTURE: 'sparc' }).ended
  expect(code).toBe(11)
  expect(err).toMatch(
    /^error runtime_too_old: this is Node\.js 20\.20\.2 with SQLite \S+; Node\.js 26 or newer with SQLite 3\.51\.3 or newer \(not 3\.52\.0\) is needed/,
  )
  expect(err).toContain('npm ci')
  expect(err).toContain('https://nodejs.org')
})

/** Every Node.js on the path, the one that came along, and those that a list names. */
const folders = [
  ...(process.env.PATH ?? '').split(delimiter),
  ...(process.env.OTHER_NODES ?? '').split(delimiter),
]
const found = [...new Set([own, ...folders.map((folder) => join(folder, 'node'))])]
  .filter((path) => path !== undefined)
  .filter((path) => existsSync(path))
  .map((path) => {
    const versions = JSON.parse(
      execFileSync(path, ['-p', 'JSON.stringify(process.versions)'], { encoding: 'utf8' }),
    ) as { readonly node: string; readonly sqlite?: string }
    return { path, ...versions }
  })
const others = found.filter(({ node, sqlite }) => !isRuntimeSound({ node, sqlite }))
const why = others.length > 0 ? '' : ' (skipped: this machine has no Node.js that is too old)'

describe.skipIf(others.length === 0)(`on a Node.js that is not taken${why}`, () => {
  test.each(others)('$node with SQLite $sqlite runs scripts on the one that came along', ({ path }) => {
    const script = join(import.meta.dirname, '../../services/with-own-node.js')
    const used = execFileSync(path, [script, '--print', 'process.versions.sqlite'], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
    })
    expect(isRuntimeSound({ node: '26.0.0', sqlite: used.trim() })).toBe(true)
  })
})
