import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')

test('every TypeScript file is in the project that editors and the type check read', () => {
  const { include } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8')) as {
    readonly include: readonly string[]
  }
  const files = execFileSync('git', ['ls-files', '*.ts'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n')
  expect(files.length).toBeGreaterThan(1_000)
  const isIncluded = (file: string): boolean =>
    include.some((place) => file === place || file.startsWith(`${place}/`))
  expect(files.filter((file) => !isIncluded(file))).toEqual([])
})
