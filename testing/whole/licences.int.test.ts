import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const SCRIPT = resolve(import.meta.dirname, '../../.ci/licences.js')

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'licences-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function check(...args: readonly string[]): { readonly status: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, ...args], { encoding: 'utf8' })
  return { status, said: stdout + stderr }
}

/** A project of one dependency: as the lock has it, and as it is installed. */
function projectWith(inLock: object, installed?: object): string {
  const packages = { '': {}, 'node_modules/one': { version: '1.0.0', ...inLock } }
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages }))
  if (installed !== undefined) {
    mkdirSync(join(folder, 'node_modules/one'), { recursive: true })
    writeFileSync(join(folder, 'node_modules/one/package.json'), JSON.stringify(installed))
  }
  return folder
}
const same = (license: string): string => projectWith({ license }, { license })

test('every dependency that ships may', () => {
  const { status, said } = check()
  expect(said).toMatch(/^\d{3} dependencies that ship, 0 with a licence that may not$/m)
  expect(said).toMatch(/^MIT: .*\bfastify 5/m)
  expect(status).toBe(0)
})

test('every package that ships is locked to an exact version, with the hash of what was published', () => {
  const lock = JSON.parse(readFileSync(resolve(import.meta.dirname, '../../package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<
      Record<string, { version?: string; integrity?: string; inBundle?: boolean; dev?: boolean }>
    >
  }
  const packages = Object.entries(lock.packages).filter(
    ([path, { inBundle, dev }]) => path !== '' && inBundle !== true && dev !== true,
  )
  expect(packages.length).toBeGreaterThan(150)
  const loose = packages.filter(
    ([, { version = '', integrity = '' }]) => !/^\d/.test(version) || !integrity.startsWith('sha512-'),
  )
  expect(loose.map(([path]) => path)).toEqual([])
})

describe('the check', () => {
  test.each([
    'MIT',
    '(BSD-3-Clause AND Apache-2.0)',
    '(GPL-3.0-only OR MIT)',
    'MIT OR (GPL-2.0-only AND ISC)',
  ])('lets %s pass', (licence) => expect(check(same(licence))).toMatchObject({ status: 0 }))

  test.each([
    'GPL-3.0-only',
    'AGPL-3.0',
    'MIT AND GPL-3.0-only',
    '(MIT OR',
    'MIT MIT',
    'SEE LICENSE IN LICENSE',
    'UNLICENSED',
    'toString',
    '',
  ])('refuses %j', (licence) => expect(check(same(licence))).toMatchObject({ status: 1 }))

  test('refuses a package that names none, is another one than in the lock, or is not there', () => {
    expect(check(projectWith({}, {}))).toMatchObject({ status: 1 })
    const other = check(projectWith({ license: 'MIT' }, { license: 'ISC' }))
    expect(other).toMatchObject({
      status: 1,
      said: expect.stringContaining('one 1.0.0 is ISC, and MIT in the lock'),
    })
    rmSync(join(folder, 'node_modules'), { recursive: true })
    expect(check(projectWith({ license: 'MIT' }))).toMatchObject({ status: 1 })
  })

  test('takes the word of the lock for what is for another platform, and leaves out what does not ship', () => {
    expect(check(projectWith({ license: 'MIT', optional: true }))).toMatchObject({ status: 0 })
    expect(check(projectWith({ license: 'GPL-3.0-only', optional: true }))).toMatchObject({ status: 1 })
    expect(check(projectWith({ license: 'GPL-3.0-only', dev: true }))).toMatchObject({ status: 0 })
  })
})
