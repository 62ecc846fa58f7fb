import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { asWord, release, VERSIONED } from './release.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const NEXT = '99.0.1'
const { version: CURRENT } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  version: string
}
/** They tell of versions that were. */
const HISTORY = /^(?:CHANGELOG\.md|docs\/(?:upgrading\.md|asked\.txt|decisions\/.*)|fixtures\/.*)$/

let root: string
const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'release-'))
  for (const file of VERSIONED) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    cpSync(join(ROOT, file), join(root, file))
  }
  writeFileSync(
    join(root, 'CHANGELOG.md'),
    '# Changelog\n\n## Unreleased\n\n- a change\n\n## 0.0.1\n\n- the first\n',
  )
  git('init', '--quiet', '--initial-branch', 'main')
  git('config', 'user.name', 'somebody')
  git('config', 'user.email', 'somebody@example.com')
  git('add', '.')
  git('commit', '--quiet', '--message', 'as it was')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function make(version = NEXT, isMeant = true): string[] {
  const said: string[] = []
  release({ root, version, date: '2030-01-02', isMeant, say: (line) => said.push(line) })
  return said
}

describe('a release', () => {
  test('sets its version everywhere, moves the changes to it, commits and tags', () => {
    make()
    expect(textOf('CHANGELOG.md')).toBe(
      `# Changelog\n\n## Unreleased\n\n## ${NEXT} (2030-01-02)\n\n- a change\n\n## 0.0.1\n\n- the first\n`,
    )
    for (const file of VERSIONED) expect(textOf(file), file).toMatch(asWord(NEXT))
    const lock = JSON.parse(textOf('package-lock.json')) as {
      version: string
      packages: Record<string, { version?: string }>
    }
    expect([lock.version, lock.packages['']?.version]).toEqual([NEXT, NEXT])
    const others = (text: string): number => text.split('"version"').length - 1
    expect(textOf('package-lock.json').split(`"${NEXT}"`)).toHaveLength(3)
    expect(others(textOf('package-lock.json'))).toBe(
      others(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')),
    )
    expect([git('status', '--porcelain'), git('log', '-1', '--format=%s')]).toEqual(['', `Release ${NEXT}`])
    expect(git('cat-file', '-t', `v${NEXT}`)).toBe('tag')
  })

  test('that is not meant says its steps and changes nothing', () => {
    const said = make(NEXT, false)
    expect(said).toContain('would write package.json')
    expect(said.at(-1)).toContain('--yes')
    expect([git('status', '--porcelain'), git('tag'), git('rev-list', '--count', 'HEAD')]).toEqual([
      '',
      '',
      '1',
    ])
  })

  test.each<readonly [string, string, () => void, string]>([
    ['the version is none', '1.0', () => undefined, 'no version of three numbers'],
    ['the version is not newer', CURRENT, () => undefined, 'not newer'],
    ['the branch is another', NEXT, () => void git('checkout', '--quiet', '-b', 'other'), 'on main'],
    ['the tree has changes', NEXT, () => writeFileSync(join(root, 'new'), ''), 'not committed'],
    ['the tag exists', NEXT, () => void git('tag', `v${NEXT}`), `v${NEXT} exists`],
    [
      'nothing has changed since',
      NEXT,
      () => {
        writeFileSync(join(root, 'CHANGELOG.md'), '# Changelog\n\n## Unreleased\n\n## 0.0.1\n\n- the first\n')
        git('commit', '--quiet', '--all', '--message', 'nothing new')
      },
      'nothing under "Unreleased"',
    ],
  ])('is refused where %s, and changes nothing', (_name, version, given, why) => {
    given()
    const before = [git('status', '--porcelain'), git('rev-parse', 'HEAD'), git('tag')]
    expect(() => make(version)).toThrow(why)
    expect([git('status', '--porcelain'), git('rev-parse', 'HEAD'), git('tag')]).toEqual(before)
  })
})

test('every file that names the version is set by a release', () => {
  const files = execFileSync('git', ['grep', '-lIF', CURRENT], { cwd: ROOT, encoding: 'utf8' })
    .trim()
    .split('\n')
  const naming = files.filter(
    (file) =>
      !HISTORY.test(file) &&
      !file.endsWith('.test.ts') &&
      asWord(CURRENT).test(readFileSync(join(ROOT, file), 'utf8')),
  )
  expect(naming).toEqual(expect.arrayContaining(['package.json']))
  expect(naming.filter((file) => !VERSIONED.includes(file))).toEqual([])
})
