import { readFileSync } from 'node:fs'
import { loadCommands } from '../../../services/cli/commands.ts'
import { findCommand, readCommandLine } from '../../../services/cli/run-command.ts'
import { createModel } from '../../../services/engine/model/verdict-model.ts'
import { parseMarkdown } from '../../../services/knowledge/markdown.ts'
import {
  type Manifest,
  parseManifest,
  signedText,
  unpackSegment,
} from '../../../services/log/backup/manifest.ts'
import { rowsOf } from '../../../services/log/embedded/stored-rows.ts'
import { loadLogKeys } from '../../../services/proof/signing/keys.ts'
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
const KEY = Buffer.alloc(32, 1)
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
    name: 'model',
    read: (input) => createModel({ ...MODEL, ...objectOf(input) }),
    refusesBy: ['SyntaxError'],
  },
  {
    name: 'manifest',
    read(input) {
      const manifest = objectOf(input)
      // Signed: without that nothing behind the signature would be reached.
      parseManifest(signedText(manifest as unknown as Manifest, KEY), KEY)
    },
    refusesBy: ['SyntaxError'],
  },
  { name: 'segment', read: (input) => unpackSegment(input, { name: 'segment', sha256: '' }) },
  { name: 'segment-rows', read: (input) => rowsOf(textOf(input)), refusesBy: ['TypeError'] },
  { name: 'markdown', read: (input) => parseMarkdown(textOf(input)) },
]
