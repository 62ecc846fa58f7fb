import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Files that name the version of this release. A test finds every other one. */
export const VERSIONED: readonly string[] = [
  'package.json',
  'package-lock.json',
  'clients/mcp/README.md',
  'clients/mcp/package.json',
  'clients/python/pyproject.toml',
  'clients/typescript/package.json',
  'deploy/kubernetes/cluster/kustomization.yaml',
  'deploy/kubernetes/single-node/kustomization.yaml',
  'docker-compose.yml',
  'docs/market-data.md',
  'docs/quotas.md',
  'docs/running.md',
  'services/webhooks/sending/sign.ts',
]
const LOCK = 'package-lock.json'
const CHANGELOG = 'CHANGELOG.md'
const UNRELEASED = '## Unreleased\n'

export interface ReleaseOptions {
  /** The folder of the repository. */
  readonly root: string
  /** For example 1.2.3. */
  readonly version: string
  /** For example 2026-11-23. */
  readonly date: string
  /** Without it nothing changes: the steps are only said. */
  readonly isMeant: boolean
  readonly say: (line: string) => void
}

/** Why a release cannot be made, in words for the one who asked for it. */
export class ReleaseRefused extends Error {}

/**
 * Moves the changes of the changelog to a version, sets it wherever it stands, commits, and makes an annotated tag.
 *
 * @throws ReleaseRefused where the tree, the branch, the version or the changelog does not allow it; nothing is changed then.
 */
export function release({ root, version, date, isMeant, say }: ReleaseOptions): void {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  const { version: current } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string
  }
  requireNewer(version, current)
  if (git('branch', '--show-current') !== 'main')
    throw new ReleaseRefused('Releases are made on main. Switch to it.')
  if (git('status', '--porcelain') !== '')
    throw new ReleaseRefused('The tree has changes that are not committed. Commit or stash them.')
  const tag = `v${version}`
  if (git('tag', '--list', tag) !== '')
    throw new ReleaseRefused(`The tag ${tag} exists. Choose another version.`)

  const texts = new Map(VERSIONED.map((file) => [file, setVersion(root, file, current, version)]))
  texts.set(CHANGELOG, releasedChangelog(readFileSync(join(root, CHANGELOG), 'utf8'), version, date))
  for (const file of texts.keys()) say(`${isMeant ? 'writes' : 'would write'} ${file}`)
  say(`${isMeant ? 'commits and tags' : 'would commit and tag'} ${tag}`)
  if (!isMeant) return say('Nothing has changed. Add --yes to make the release.')

  for (const [file, text] of texts) writeFileSync(join(root, file), text)
  git('add', ...texts.keys())
  git('commit', '--message', `Release ${version}`)
  git('tag', '--annotate', tag, '--message', `Release ${version}`)
  say(`Done. Publish it by: git push --follow-tags origin main`)
}

function requireNewer(version: string, current: string): void {
  const numbers = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/.exec(version)?.slice(1).map(Number)
  if (numbers === undefined)
    throw new ReleaseRefused(`${version} is no version of three numbers, such as 1.2.3.`)
  const by = current.split('.').map((part, place) => (numbers[place] ?? 0) - Number(part))
  if ((by.find((difference) => difference !== 0) ?? 0) <= 0)
    throw new ReleaseRefused(`${version} is not newer than ${current}.`)
}

/** A version that is no part of a longer number. */
export const asWord = (version: string): RegExp =>
  new RegExp(`(?<![\\d.])${version.replaceAll('.', '\\.')}(?!\\.?\\d)`, 'g')

/** The text of a file with the version set. Of a lock, only the entries of this package: others may have the same version. */
function setVersion(root: string, file: string, from: string, to: string): string {
  const text = readFileSync(join(root, file), 'utf8')
  const own = file === LOCK ? /"name": "signal-service",\s+"version": "[^"]+"/g : /^[\s\S]*$/g
  const changed = text.replaceAll(own, (part) => part.replaceAll(asWord(from), to))
  if (changed === text) throw new ReleaseRefused(`${file} does not name the version ${from}. Mend it first.`)
  return changed
}

function releasedChangelog(text: string, version: string, date: string): string {
  const [, changes] = new RegExp(`^${UNRELEASED}([\\s\\S]*?)(?=^## )`, 'm').exec(text) ?? []
  if (changes === undefined || changes.trim() === '')
    throw new ReleaseRefused('The changelog has nothing under "Unreleased". Say what changes.')
  return text.replace(UNRELEASED, `${UNRELEASED}\n## ${version} (${date})\n`)
}
