// Proves that a fresh machine with the given npm installs, starts, asks, stops and tests the project:
//   node .ci/fresh-machine.js <version of npm> <Node.js that the machine has>
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'

const STEP_MS = 300_000
const START_MS = 60_000
/** Tests that a runtime too old, or a link that is missing, would not let run. */
const TESTS = ['services/runtime/ids', 'services/runtime/async']

const [version = 'latest', node = process.execPath] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'fresh-machine-'))
const project = join(folder, 'project')
const root = join(import.meta.dirname ?? '.ci', '..')
const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` }
// What an npm that started this has set would be the new one's setting as well.
for (const name of Object.keys(env)) if (name.startsWith('npm_')) delete env[name]

try {
  execFileSync('npm', ['pack', '--silent', `npm@${version}`], { cwd: folder, env, timeout: STEP_MS })
  const [archive] = readdirSync(folder)
  execFileSync('tar', ['xzf', archive], { cwd: folder })
  execFileSync('git', ['clone', '--quiet', '--depth', '1', `file://${root}`, project], { timeout: STEP_MS })
  const npm = join(folder, 'package/bin/npm-cli.js')
  const run = (...args) => {
    const startedAt = Date.now()
    const { status, error } = spawnSync(node, [npm, ...args], { cwd: project, env, stdio: ['ignore', 'ignore', 'inherit'], timeout: STEP_MS })
    if (status !== 0) throw new Error(`npm ${args.join(' ')} ended with ${status ?? error}`)
    say(`npm ${args.join(' ')}: ${Math.round((Date.now() - startedAt) / 1_000)} s`)
  }
  say(`npm ${execFileSync(node, [npm, '--version'], { env, encoding: 'utf8' }).trim()} on Node.js ${execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()}`)
  run('ci', '--no-audit', '--no-fund', '--prefer-offline')
  await startAndAsk(npm)
  run('test', '--', ...TESTS)
} catch (error) {
  say(`failed: ${error.message}`)
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** Starts the service as the README says, asks it for a call, and stops it as a terminal does. */
async function startAndAsk(npm) {
  const args = [npm, 'start', '--', '--port', '0', '--data-dir', join(folder, 'data'), '--coins', 'BTC']
  // In a group of its own, as a terminal's command is.
  const child = spawn(node, args, { cwd: project, env, stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const signalAll = (signal) => {
    if (child.pid !== undefined) process.kill(-child.pid, signal)
  }
  const tooLate = setTimeout(() => signalAll('SIGKILL'), START_MS)
  try {
    const url = await addressIn(child)
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_trade_call', arguments: { coin: 'BTC', timeframe: '1h' } } }
    const answer = await fetch(`${url}/mcp`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(call) })
    const { result } = await answer.json()
    if (result?.structuredContent?.coin !== 'BTC') throw new Error(`get_trade_call answered ${answer.status}`)
    say(`npm start: answers at ${url}`)
    signalAll('SIGINT')
    await ended
    const isStillThere = await fetch(`${url}/livez`).then(() => true, () => false)
    if (isStillThere) throw new Error('the service outlived npm start')
  } finally {
    clearTimeout(tooLate)
    if (child.exitCode === null && child.signalCode === null) signalAll('SIGKILL')
  }
}

function addressIn(child) {
  return new Promise((resolve, reject) => {
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      out += text
      const match = /http:\S*?(?=\/mcp )/.exec(out)
      if (match !== null) resolve(match[0])
    })
    child.once('close', (code) => reject(new Error(`npm start ended with ${code}: ${out}`)))
  })
}

function say(text) {
  process.stdout.write(`fresh machine, npm ${version}: ${text}\n`)
}
