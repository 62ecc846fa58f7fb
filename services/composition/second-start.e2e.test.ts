import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ServiceProcess, startServiceProcess } from '../http/testing/start-service-process.ts'

const SIGNAL = join(import.meta.dirname, '../signal.js')
const run = promisify(execFile)
let folder: string
let service: ServiceProcess
beforeEach(async () => {
  folder = join(mkdtempSync(join(tmpdir(), 'second-')), "Ada's data")
  service = await startServiceProcess({ TIMEFRAMES: '1h', FRESH: 'false' }, { dataDirectory: folder })
})
afterEach(async () => {
  await service.stop()
  rmSync(join(folder, '..'), { recursive: true, force: true })
})

test('the commands of the start screen reach the service that printed them, and say which it is', async () => {
  await expect.poll(() => service.output(), { timeout: 20_000 }).toContain('100 %')
  const commands = [...service.output().matchAll(/^ {2}npm run -s signal -- (.*?) {2}# /gm)]
  expect(commands).toHaveLength(3)
  for (const [, words] of commands) {
    const { stdout, stderr } = await run('sh', ['-c', `"$0" "$1" ${words}`, process.execPath, SIGNAL])
    expect(stderr).toContain(`asking ${folder}/simulated\n`)
    const key = /sk_live_\w+/.exec(stdout)?.[0]
    if (key === undefined) {
      for (const row of stdout.trimEnd().split('\n')) expect(JSON.parse(row)).toMatchObject({ coin: 'BTC' })
    } else {
      const headers = { authorization: `Bearer ${key}` }
      expect((await fetch(`${service.url}/api/account`, { headers })).status).toBe(200)
    }
  }
})

test.each([
  ['start.js', []],
  [
    'signal.js',
    ['store', 'copy', '--to', 'eventstoredb', '--eventstore-url', 'esdb://127.0.0.1:1?tls=false'],
  ],
])('a second process on the folder is refused and says who holds it: %s %s', async (program, words) => {
  const args = [join(SIGNAL, '..', program), ...words, '--data-dir', folder]
  await expect(run(process.execPath, args)).rejects.toMatchObject({
    code: 7,
    stderr: expect.stringMatching(
      new RegExp(`open in another process: the service at ${service.url}, process \\d+\\n`),
    ),
  })
})
