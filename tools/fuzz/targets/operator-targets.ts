import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadCommands } from '../../../services/cli/commands.ts'
import { findCommand, readCommandLine } from '../../../services/cli/run-command.ts'
import { createModel } from '../../../services/engine/model/verdict-model.ts'
import { parseMarkdown } from '../../../services/knowledge/markdown/parse-markdown.ts'
import { rowsOf } from '../../../services/log/embedded/stored-row.ts'
import { parseManifest } from '../../../services/log-operations/backup/manifest.ts'
import { readS3Credentials } from '../../../services/log-operations/backup/s3-credentials.ts'
import { sha256Of, unpackSegment } from '../../../services/log-operations/backup/segment.ts'
import { loadLogKeys } from '../../../services/proof/signing/log-keys.ts'
import { readSettings } from '../../../services/runtime/config/read-settings.ts'
import { SETTINGS, type SettingName } from '../../../services/runtime/config/settings.ts'
import { loadWrappingKeys } from '../../../services/runtime/secrets/wrapping-keys.ts'
import type { Target } from '../target.ts'

const COMMANDS = await loadCommands()

const textOf = (input: Buffer): string => input.toString('utf8')
const objectOf = (input: Buffer): object => {
  const value: unknown = JSON.parse(textOf(input))
  return typeof value === 'object' && value !== null ? value : {}
}
const MODEL = JSON.parse(
  readFileSync(new URL('../../../services/engine/model/barrier-6.json', import.meta.url), 'utf8'),
) as object

/** Runs with a file of this content, in a folder of its own. */
function withFile<Result>(content: Buffer, use: (file: string) => Result): Result {
  const folder = mkdtempSync(join(tmpdir(), 'fuzz-'))
  try {
    const file = join(folder, 'file')
    writeFileSync(file, content)
    return use(file)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const isSecret = (name: SettingName): boolean =>
  (SETTINGS[name] as { readonly isSecret?: boolean }).isSecret === true
const settingsOf = (input: Buffer): Record<string, string> =>
  Object.fromEntries(
    textOf(input)
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )

/** Inputs of operators: settings, keys, files, folders. */
export const OPERATOR_TARGETS: readonly Target[] = [
  {
    name: 'settings',
    read(input) {
      // Only what is secret is kept out of refusals: of the others it is told what was given.
      const given = settingsOf(input)
      readSettings(
        [],
        Object.fromEntries(
          Object.entries(given).filter(([name]) => name in SETTINGS && isSecret(name as SettingName)),
        ),
      )
    },
    isSecret: true,
  },
  { name: 'open-settings', read: (input) => readSettings([], settingsOf(input)) },
  {
    name: 'command-line',
    read(input) {
      const found = findCommand(COMMANDS, textOf(input).split(' '))
      if (found !== undefined) readCommandLine(found.command, found.args, {})
    },
  },
  {
    name: 'log-keys',
    read: (input) => loadLogKeys({ given: textOf(input), file: '', random: (bytes) => Buffer.alloc(bytes) }),
    isSecret: true,
  },
  {
    name: 'wrapping-keys',
    read: (input) => loadWrappingKeys({ given: textOf(input), file: '' }),
    isSecret: true,
  },
  {
    name: 's3-credentials',
    read: (input) => withFile(input, (file) => readS3Credentials({ AWS_PROFILE: 'default' }, file)),
    isSecret: true,
  },
  {
    name: 'model',
    read: (input) => createModel({ ...MODEL, ...objectOf(input) }),
    refusesBy: ['SyntaxError'],
  },
  {
    name: 'manifest',
    read(input) {
      const manifest = objectOf(input)
      // With the hash that it is to have: without it nothing behind the hash would be reached.
      parseManifest(JSON.stringify({ sha256: sha256Of(JSON.stringify(manifest)), manifest }), undefined)
    },
    refusesBy: ['SyntaxError'],
  },
  { name: 'segment', read: (input) => unpackSegment(input, { name: 'segment', sha256: '' }) },
  { name: 'segment-rows', read: (input) => rowsOf(textOf(input)), refusesBy: ['TypeError'] },
  { name: 'markdown', read: (input) => parseMarkdown(textOf(input)) },
]
