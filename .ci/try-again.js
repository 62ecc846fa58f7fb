// Runs the files of the few tests that failed once more, by themselves and with the seed they drew. A test that fails
// again is a fault; one that passes needs a quieter machine than the run gave it, and is named so that it gets mended.
// Exit code 0: every one of them passed now.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

const MOST_FILES = 3
const LINES_OF_A_MESSAGE = 12
const say = (line) => process.stdout.write(`${line}\n`)

const { testResults } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const files = testResults.filter(({ status }) => status === 'failed')
const messages = []
for (const { name, message, assertionResults } of files) {
  const failed = assertionResults.filter(({ status }) => status === 'failed')
  if (failed.length === 0) messages.push(message)
  for (const { fullName, failureMessages } of failed) {
    messages.push(...failureMessages)
    const shown = failureMessages.join('\n').split('\n').slice(0, LINES_OF_A_MESSAGE).join('\n')
    say(`failed: ${relative('.', name)}: ${fullName}\n${shown}`)
  }
}
if (files.length === 0 || files.length > MOST_FILES) process.exit(1)
const seed = /seed: (-?\d+)/.exec(messages.join('\n'))?.[1]
const { status } = spawnSync(
  process.execPath,
  ['services/with-own-node.js', 'node_modules/vitest/vitest.mjs', 'run', ...files.map(({ name }) => name)],
  { stdio: 'inherit', env: seed === undefined ? process.env : { ...process.env, FAST_CHECK_SEED: seed } },
)
if (status === 0) say('passed when run again by themselves')
process.exit(status ?? 1)
