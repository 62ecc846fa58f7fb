// Fails where a dependency that ships has a known fault of high severity or above; says so where the registry knows none
// to ask about:
//   npm run vulnerable
import { spawnSync } from 'node:child_process'

const npm = process.env.npm_execpath
const { stdout } = spawnSync(
  npm === undefined ? 'npm' : process.execPath,
  [...(npm === undefined ? [] : [npm]), 'audit', '--omit=dev', '--json'],
  { encoding: 'utf8', timeout: 120_000 },
)
const { metadata, vulnerabilities, message } = read(stdout)
if (metadata === undefined) {
  process.stdout.write(`skipped: the registry answers no audit (${message ?? 'no answer'})\n`)
} else {
  const grave = Object.values(vulnerabilities).filter(({ severity }) => ['high', 'critical'].includes(severity))
  for (const { name, severity, range } of grave) process.stderr.write(`${severity}: ${name} ${range}\n`)
  process.stdout.write(`${metadata.dependencies.prod} dependencies that ship, ${grave.length} with a known grave fault\n`)
  process.exitCode = grave.length === 0 ? 0 : 1
}

function read(text) {
  try {
    return JSON.parse(text)
  } catch {
    return { message: text?.trim() || undefined }
  }
}
