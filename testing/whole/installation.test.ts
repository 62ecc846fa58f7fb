import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const read = (file: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../..', file), 'utf8')) as Record<string, unknown>

/** Scripts that npm would name in a warning at each installation, because nobody has decided about them. */
test('every package with an install script is decided upon', () => {
  const packages = read('package-lock.json').packages as Record<string, { hasInstallScript?: boolean }>
  const named = Object.entries(packages)
    .filter(([path, { hasInstallScript }]) => path !== '' && hasInstallScript === true)
    .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length))
  expect(Object.keys(read('package.json').allowScripts as object).toSorted()).toEqual(
    [...new Set(named)].toSorted(),
  )
})
