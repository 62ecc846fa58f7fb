import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { KLINE_HEADER, klineLines, textOf, writeFolder } from '../testing/data-folder.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const page = readFileSync(join(ROOT, 'docs/market-data.md'), 'utf8')
const blocksOf = (language: string): string[] =>
  [...page.matchAll(/```(\w*)\n([^`]*)```/g)]
    .filter(([, of]) => of === language)
    .map(([, , text = '']) => text)
const months = Array.from({ length: 6 }, (_, i) => Date.UTC(2025, i, 1))
const folder = writeFolder(
  Object.fromEntries(
    months.map((from, i) => [
      `archive/futures/um/monthly/klines/BTCUSDT/1h/BTCUSDT-1h-2025-0${i + 1}.zip`,
      textOf(
        klineLines((Date.UTC(2025, i + 1, 1) - from) / HOUR_MS, { from }),
        i > 2 ? KLINE_HEADER : undefined,
      ),
    ]),
  ),
)
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs a block in a shell, on an archive of the test where it names one. */
function run(block: string): string {
  const command = block
    .replaceAll('./archive', join(folder, 'archive'))
    .replaceAll('verdicts.csv', join(folder, 'verdicts.csv'))
  const environment = { ...process.env, DATA_DIR: join(folder, 'log'), PORT: '0' }
  const ended = spawnSync('sh', ['-c', command], { cwd: ROOT, env: environment, encoding: 'utf8' })
  expect(ended.status, ended.stderr).toBe(0)
  return ended.stdout
}

test('the page begins with a download, a backtest and its result, and each command does what the page says', () => {
  const [backtest = '', read = '', replay = '', ...others] = blocksOf('bash')
  expect(others).toEqual([])
  expect(run(backtest)).toMatch(/^Backtest of .+: 3,845 verdicts/)
  expect(existsSync(join(folder, 'verdicts.csv'))).toBe(true)
  const [header, first] = run(read).split('\n')
  expect(page).toContain(`${header}\n${first?.slice(0, 24)}`)
  expect(run(replay)).toMatch(/The market has ended: 1,416 bars.*\n673 verdicts recorded/)
})

test('the download writes files where the page shows them, with names that are read', () => {
  const [download = ''] = blocksOf('sh')
  const [, output = '', address = ''] = /-o '([^']+)' \\\n\s*'([^']+)'/.exec(download) ?? []
  expect(output.replace('#1', '06').replace('#2', '')).toBe(
    'archive/futures/um/monthly/klines/BTCUSDT/1h/BTCUSDT-1h-2025-06.zip',
  )
  expect(existsSync(join(folder, output.replace('#1', '06').replace('#2', '.CHECKSUM')))).toBe(true)
  expect(address).toContain('[01-06].zip{,.CHECKSUM}')
  expect(page).toContain(`${output.slice('archive/'.length).replace('#1', '06').replace('#2', '')}\n`)
})
