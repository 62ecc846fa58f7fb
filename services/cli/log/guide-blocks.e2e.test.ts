import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startServiceProcess } from '../../http/testing/start-service-process.ts'

const ROOT = join(import.meta.dirname, '../../..')
/** Blocks that need a server or a disk of their own; others run them. */
const ELSEWHERE = /s3:|esdb:|keys revoke/
/** `npm` for a folder that is not the project: commands run as they are, and a start ends once it serves. */
const NPM = `#!/bin/bash
if [ "$1" = run ]; then shift 4; exec "$NODE" ${ROOT}/services/signal.js "$@"; fi
shift 2; rm -f started
"$NODE" ${ROOT}/services/start.js "$@" >started 2>&1 & service=$!
until grep -q /readyz started; do kill -0 $service || { cat started; exit 1; }; sleep 0.1; done
kill -TERM $service; wait $service
`

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'guide-'))
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'bin/npm'), NPM)
  chmodSync(join(folder, 'bin/npm'), 0o755)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** The shell blocks of a section, or of a whole page, on the market that needs no network. */
function blocksOf(page: string, section?: string): string[] {
  const text = readFileSync(join(ROOT, 'docs', page), 'utf8')
  const part = section === undefined ? text : (text.split(`## ${section}\n`)[1]?.split('\n## ')[0] ?? '')
  const blocks = [...part.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block)
  return blocks
    .filter((block) => !ELSEWHERE.test(block))
    .map((block) =>
      block
        .replaceAll('--market live', '')
        .replaceAll('/live', '/simulated')
        .replace(/--port \d+/, '--port 0'),
    )
}

async function sh(script: string): Promise<void> {
  const env = {
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
    NODE: process.execPath,
    HOME: folder,
    PORT: '0',
  }
  const shell = spawn('sh', ['-e', '-c', script], { cwd: folder, env })
  let said = ''
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (text) => (said += String(text)))
  const [code] = (await once(shell, 'close')) as [number]
  expect([script, code, code === 0 ? '' : said]).toEqual([script, 0, ''])
}

test('each shell block on backup, restore and upgrading works as it stands, one after the other', async () => {
  const service = await startServiceProcess({ TIMEFRAMES: '1h' }, { dataDirectory: join(folder, 'data') })
  const [backup = '', ...others] = [
    ...blocksOf('running.md', 'Which files do I back up, and how do I restore them?'),
    ...blocksOf('backup.md'),
    ...blocksOf('upgrading.md'),
  ]
  await sh(backup)
  const checkpoint = join(folder, 'data/simulated/newest-checkpoint')
  await expect.poll(() => existsSync(checkpoint), { timeout: 30_000 }).toBe(true)
  await service.stop()
  writeFileSync(join(folder, 'data/simulated/erased-subjects'), '', { mode: 0o600 })
  expect(others.length).toBeGreaterThan(4)
  for (const block of others) await sh(block)
}, 120_000)
