// Plain JavaScript, because an older Node cannot even read what it would have to refuse.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net'
import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import v8 from 'node:v8'

/** Exit code of `runtime_too_old` in contracts/errors.ts, which an older Node cannot read. */
const RUNTIME_TOO_OLD = 11
const OLDEST_MAJOR = 24
/** Older ones can lose committed pages of a log that two connections write and checkpoint at the same moment. */
const OLDEST_SQLITE = [3, 51, 3]
/** Withdrawn by its authors. */
const FAULTY_SQLITE = '3.52.0'
const BROUGHT_ALONG = 'Linux (x64, arm64), Windows (x64) and macOS (x64)'
/** Signals that ask for an end, and are passed on. */
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP']
/** How often it is looked whether whoever started this is still there. */
const PARENT_CHECK_MS = 250

/**
 * Settings of the C library of Linux: threads share two heaps, and the end of each goes back to the system. It reads them when a
 * process begins.
 */
export const MEMORY_SETTINGS = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072' }

/**
 * Keeps V8's compiler Maglev from replacing a loop that runs. In Node.js 24 objects that a function makes behind such a loop may
 * share their numbers: the next one made changes those before (docs/decisions/0172-no-loop-is-replaced-by-maglev.md).
 */
export const SOUND_COMPILER = '--no-maglev-osr'
/**
 * Lets Maglev free its working memory when its code is taken over. A thread in the background comes late to it while a start
 * compiles: up to 25 MB pile up, and what is allocated meanwhile keeps their pages (docs/decisions/0173-where-idle-memory-went.md).
 */
const FREEING_COMPILER = '--no-maglev-destroy-on-background'
const COMPILER = [SOUND_COMPILER, FREEING_COMPILER]
/**
 * Milliseconds for each address of a name. Node.js gives each but the last 250, which is less than a handshake takes on a long
 * way: a host with an A and an AAAA record would never be reached from where one of both has no route.
 */
const ADDRESS_MS = 2_500
if (isRuntimeSound()) {
  v8.setFlagsFromString(COMPILER.join(' '))
  setDefaultAutoSelectFamilyAttemptTimeout(ADDRESS_MS)
}

/**
 * Begins this process again where the C library of Linux was not told its settings, and once only. A child would do as well,
 * beside a Node.js that waits for it.
 */
export function useMemorySettings() {
  const isTold = Object.keys(MEMORY_SETTINGS).every((name) => process.env[name] !== undefined)
  // Whoever forked this process would lose it.
  if (isTold || process.platform !== 'linux' || process.send || !process.execve) return
  const args = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  process.execve(process.execPath, args, { ...MEMORY_SETTINGS, ...process.env })
}

/** Names the starting process to the one it waits for (main.ts), which ends when that one is gone. */
const STARTER_VARIABLE = 'SIGNAL_SERVICE_STARTER'

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
 * The Node.js 24 that `npm ci` brought for this system, looked up where the package lies: the links that npm makes in
 * `.bin` are not the same in all its versions.
 *
 * @returns {string | undefined} its path.
 */
export function findOwnNode(platform = process.platform, architecture = process.arch) {
  const isWindows = platform === 'win32'
  try {
    const name = `node-${isWindows ? 'win' : platform}-${architecture}/package.json`
    const folder = dirname(createRequire(import.meta.url).resolve(name))
    return join(folder, 'bin', isWindows ? 'node.exe' : 'node')
  } catch {
    // Not every system has such a package, and `npm ci --omit=optional` leaves it out: whoever asks says so.
    return undefined
  }
}

/**
 * Runs a script by a sound Node.js: by this one, or by the one that came with the dependencies. Input,
 * output and signals are passed on, and this process ends as that one does.
 *
 * @param {readonly string[]} args of node: a script and its arguments, or options.
 */
export function runOnOwnNode(args) {
  const node = isRuntimeSound() ? process.execPath : findOwnNode()
  // This may be the one that came along already, with an installation of long ago.
  const isOwn = process.env[STARTER_VARIABLE] === String(process.ppid)
  if (node === undefined || (isOwn && !isRuntimeSound()))
    return refuse('the dependencies brought no such one along')
  const env = {
    ...MEMORY_SETTINGS,
    ...process.env,
    // For what it starts by the name `node` in turn.
    PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}`,
    [STARTER_VARIABLE]: String(process.pid),
  }
  const child = spawn(node, [...COMPILER, ...args], { stdio: 'inherit', env })
  child.on('error', (error) => refuse(`${node} cannot be run: ${error.message}`))
  passSignals(child)
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1)
    for (const name of ENDING) process.removeAllListeners(name)
    process.kill(process.pid, signal)
    // Where that signal does not end this process: the code that a shell gives for it.
    setTimeout(() => process.exit(128 + constants.signals[signal]), PARENT_CHECK_MS)
  })
}

/** @param {import('node:child_process').ChildProcess} child */
function passSignals(child) {
  for (const name of ENDING) {
    process.on(name, () => {
      // Ctrl-C comes to all processes at the terminal; passed on as well, it would be a second one.
      if (name === 'SIGINT' && isAtTerminal()) return
      child.kill(name)
    })
  }
  if (process.env.npm_lifecycle_event === undefined) return
  // npm passes a signal to its shell only, which dies of it.
  const parent = process.ppid
  const watching = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watching)
    child.kill('SIGTERM')
  }, PARENT_CHECK_MS)
}

const isAtTerminal = () => [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY)

/** @param {string} reason */
function refuse(reason) {
  process.stderr.write(
    `error runtime_too_old: this is Node.js ${process.versions.node} with SQLite ${process.versions.sqlite ?? 'not built in'}, ` +
      `${OLDEST_MAJOR} or newer with SQLite ${OLDEST_SQLITE.join('.')} or newer (not ${FAULTY_SQLITE}) is needed, and ${reason}.\n` +
      `Run \`npm ci\`, which brings one along for ${BROUGHT_ALONG}; on other systems install the newest Node.js ${OLDEST_MAJOR} from https://nodejs.org.\n`,
  )
  process.exitCode = RUNTIME_TOO_OLD
}
