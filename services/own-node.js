// Plain JavaScript, because an older Node.js cannot even read what it would have to refuse.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net'
import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import v8 from 'node:v8'

/** Exit code of `runtime_too_old` in contracts/errors/errors.ts, which an older Node.js cannot read. */
const RUNTIME_TOO_OLD = 11
const OLDEST_MAJOR = 26
/** Older ones can lose committed pages of a log that two connections write and checkpoint at the same moment. */
const OLDEST_SQLITE = [3, 51, 3]
/** Withdrawn by its authors. */
const FAULTY_SQLITE = '3.52.0'
/** How often it is looked whether whoever started this is still there. */
const PARENT_CHECK_MS = 250
/**
 * Keeps V8's compiler Maglev from replacing a loop that runs: objects that a function makes behind such a loop may share
 * their numbers (docs/decisions/0172-no-loop-is-replaced-by-maglev.md).
 */
export const SOUND_COMPILER = '--no-maglev-osr'
/**
 * Milliseconds for each address of a name. Node.js gives each but the last 250, which is less than a handshake takes on a long
 * way: a host with an A and an AAAA record would never be reached from where one of both has no route.
 */
const ADDRESS_MS = 2_500

if (isRuntimeSound()) {
  v8.setFlagsFromString(SOUND_COMPILER)
  setDefaultAutoSelectFamilyAttemptTimeout(ADDRESS_MS)
}

/**
 * Whether a Node.js runs TypeScript and all that the service needs, on a SQLite that keeps what it committed.
 *
 * @param {{ readonly node: string, readonly sqlite?: string | undefined }} versions
 */
export function isRuntimeSound({ node, sqlite = '0' } = process.versions) {
  const parts = sqlite.split('.').map(Number)
  const newer = OLDEST_SQLITE.map((oldest, index) => (parts[index] ?? 0) - oldest).find((by) => by !== 0) ?? 0
  return Number(node.split('.')[0]) >= OLDEST_MAJOR && newer >= 0 && sqlite !== FAULTY_SQLITE
}

/**
 * The Node.js that `npm ci` brought for this system, looked up where the package lies: before 11.6.2 npm makes no link to it.
 *
 * @returns {string | undefined} its path; undefined where the system has no such package or `npm ci` left it out.
 */
export function findOwnNode(platform = process.platform, architecture = process.arch) {
  const isWindows = platform === 'win32'
  const system = `${isWindows ? 'win' : platform}-${architecture}`
  const name = system === 'darwin-arm64' ? `node-bin-${system}` : `node-${system}`
  try {
    const folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))
    return join(folder, 'bin', isWindows ? 'node.exe' : 'node')
  } catch {
    return undefined
  }
}

/**
 * Runs a script by this Node.js where it is sound, else by the one that came with the dependencies, in a child whose
 * input, output, signals and end are this process's.
 *
 * @param {readonly string[]} args of node: a script and its arguments, or options.
 */
export function runOnOwnNode(args) {
  const node = isRuntimeSound() ? process.execPath : findOwnNode()
  if (node === undefined) return refuse()
  // What the script starts by the name `node` is the same one; the service ends when this process is gone (main.ts).
  const env = {
    ...process.env,
    SIGNAL_SERVICE_STARTED: 'by another Node.js',
    PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}`,
  }
  const child = spawn(node, [SOUND_COMPILER, ...args], { stdio: 'inherit', env })
  child.on('error', refuse)
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal ?? 'SIGTERM']))
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(name, () => child.kill(name))
  // npm passes a signal to its shell only, which dies of it.
  const parent = process.ppid
  setInterval(() => process.ppid === parent || child.kill('SIGTERM'), PARENT_CHECK_MS).unref()
}

/** @param {Error} [error] why the one that came along does not run. */
function refuse(error) {
  const { node, sqlite = 'not built in' } = process.versions
  process.stderr.write(
    `error runtime_too_old: this is Node.js ${node} with SQLite ${sqlite}; Node.js ${OLDEST_MAJOR} or newer with SQLite ` +
      `${OLDEST_SQLITE.join('.')} or newer (not ${FAULTY_SQLITE}) is needed${error ? ` (${error.message})` : ''}: run npm ci, ` +
      'which brings one along for Linux, macOS and Windows (x64; arm64 but for Windows), or install it from https://nodejs.org.\n',
  )
  process.exitCode = RUNTIME_TOO_OLD
}
