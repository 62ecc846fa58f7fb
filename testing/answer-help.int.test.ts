import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..')
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>
}
const COMMANDS = Object.entries(scripts).flatMap(([name, script]) => {
  const file = /(?:tools|bench)\/\S+\.ts/.exec(script)?.[0]
  return file === undefined ? [] : [[name, file] as const]
})
const MOST_MS = 60_000

test.each(COMMANDS)('npm run %s -- --help says what it does and its flags', async (name, file) => {
  const options = { cwd: ROOT, timeout: MOST_MS, killSignal: 'SIGKILL' } as const
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [file, '--help'], options)
  const [does = '', empty, ...rest] = stdout.split('\n')
  expect(does).toMatch(/^[A-Z].*\.$/)
  expect([empty, stderr]).toEqual(['', ''])
  expect(rest.join('\n')).toMatch(new RegExp(`^  (?:[A-Z_]+=\\S+ )?npm run (?:-s )?${name}(?: --|$)`, 'm'))
})

test('every tool that npm runs is among them', () => {
  expect(COMMANDS.map(([name]) => name)).toEqual(
    expect.arrayContaining(['simulate', 'store:rights', 'bench', 'fit', 'evaluate']),
  )
})
