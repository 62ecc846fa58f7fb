import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AUTH_OUTCOMES } from '../../contracts/answers/service-block.ts'
import { verdictRowSchema } from '../../contracts/answers/verdict-row.ts'
import { OAUTH_CODES } from '../../contracts/domain/oauth.ts'
import { EXCHANGES } from '../../contracts/domain/series.ts'
import { CALLS, REGIME_DIRECTIONS, REGIMES } from '../../contracts/domain/verdict.ts'
import { ERRORS, type ErrorDefinition } from '../../contracts/errors/errors.ts'
import { loadCommands } from '../../services/cli/commands.ts'
import { shellWords } from '../../services/cli/kit/shell-words.fixture.ts'
import { findCommand, readCommandLine } from '../../services/cli/run-command.ts'
import { type RunningService, startService } from '../../services/composition/start-service.ts'
import { readMarkdown, spansOf } from '../../services/knowledge/testing/read-markdown.ts'
import { readSettings } from '../../services/runtime/config/read-settings.ts'
import { SETTINGS } from '../../services/runtime/config/settings.ts'
import { pythonTypes, typeScriptTypes } from '../../tools/client-types.ts'
import { commandsPage } from '../../tools/commands-page.ts'
import { referencePages } from '../../tools/reference-pages.ts'
import { wrapMarkdown } from '../../tools/wrap-markdown.ts'

const COMMANDS = await loadCommands()

const ROOT = resolve(import.meta.dirname, '../..')
const DOCS = join(ROOT, 'docs')

const files = [
  ...readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(DOCS, name)),
  ...['README', 'ARCHITECTURE', 'CONTRIBUTING', 'CHANGELOG', 'SECURITY'].map((name) =>
    join(ROOT, `${name}.md`),
  ),
]
const pages = files.map((file) => {
  // Former releases had other settings, flags and errors.
  const [text = ''] = readFileSync(file, 'utf8').split(/^## 0\.\d/m)
  return { name: relative(ROOT, file), file, text, ...readMarkdown(text) }
})

describe('generated pages', () => {
  const generated = {
    ...referencePages(),
    'commands.md': commandsPage(COMMANDS),
  }
  test.each(Object.entries(generated))('docs/%s is what `npm run docs` writes', (name, text) => {
    expect(readFileSync(join(DOCS, name), 'utf8')).toBe(wrapMarkdown(text))
  })
  test('types of the clients are what it writes', async () => {
    const written = (name: string): string => readFileSync(join(ROOT, 'clients', name), 'utf8')
    expect(written('typescript/src/types.ts')).toBe(await typeScriptTypes())
    expect(written('python/signal_client/answers.py')).toBe(pythonTypes())
  })
})

describe('links', () => {
  test.each(pages)('of $name lead somewhere', ({ file, links }) => {
    const broken = links.filter((link) => {
      if (/^[a-z]+:/.test(link)) return false
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? file : resolve(dirname(file), path)
      if (!existsSync(target)) return true
      return anchor !== undefined && !readMarkdown(readFileSync(target, 'utf8')).anchors.includes(anchor)
    })
    expect(broken).toEqual([])
  })
})

describe('ARCHITECTURE.md', () => {
  const { text, spans } =
    pages.find(({ name }) => name === 'ARCHITECTURE.md') ?? expect.fail('There is none.')
  const part = (heading: string): string => text.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''

  test('names files and folders that are there', () => {
    const paths = spans.filter((span) =>
      /^(?:contracts|projections|services|bench|tools|docs|fixtures)\b[^{…*]*$/.test(span),
    )
    expect(paths.length).toBeGreaterThan(60)
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })

  test('follows five journeys, in files that ship', () => {
    const journeys = part('Five journeys').split('\n### ').slice(1)
    expect(journeys).toHaveLength(5)
    for (const journey of journeys) {
      const named = [...journey.matchAll(/`(services\/[^`]+\.ts)`/g)].map((match) => match[1] ?? '')
      expect(named.length, journey).toBeGreaterThan(5)
      expect(named.filter((file) => /testing\/|\.(?:test|fixture|contract)\.ts$/.test(file))).toEqual([])
    }
  })

  test('gives each domain word one line, and has no more than 25 of them', () => {
    const words = [...part('Words').matchAll(/^\| (?!word \|)([a-z ]+) \|/gm)].map((match) => match[1])
    expect(new Set(words).size).toBe(words.length)
    expect(words.length).toBeGreaterThan(15)
    expect(words.length).toBeLessThanOrEqual(25)
  })

  test('lists every room of the services', () => {
    const rooms = readdirSync(join(ROOT, 'services'), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    )
    expect(
      rooms.map(({ name }) => `services/${name}`).filter((room) => !part('Layers').includes(`\`${room}\``)),
    ).toEqual([])
  })
})

describe('commands of npm', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>
  }
  test.each(pages)('in $name exist', ({ text }) => {
    const named = [...text.matchAll(/\bnpm run (?:-s )?([a-z][\w:-]*)/g)].map((match) => match[1] ?? '')
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([])
  })
})

describe('names', () => {
  const flags = new Set(Object.values(SETTINGS).map(({ flag }) => `--${flag}`))
  const ofCommands = COMMANDS.flatMap(({ flags: own }) =>
    Object.entries(own).flatMap(([flag, { alias }]) => [flag, ...(alias === undefined ? [] : [alias])]),
  ).map((flag) => `--${flag}`)
  /** Flags of commands that only a checkout has. */
  const ofTools = ['--write']
  const settings = new Set<string>(Object.keys(SETTINGS))
  const values = new Set<string>([
    ...EXCHANGES,
    ...REGIMES,
    ...REGIME_DIRECTIONS,
    ...CALLS,
    ...AUTH_OUTCOMES,
    ...Object.keys(ERRORS),
  ])
  /** Words in capitals that are no settings: coins, currencies, methods, and the letter of UTC. */
  const others = new Set(['BTC', 'ETH', 'USDT', 'USDC', 'USD', 'GET', 'HEAD', 'POST', 'Z'])
  /** Variables that every client of S3 reads, under Amazon's names. */
  for (const name of ['PROFILE', 'REGION', 'ACCESS_KEY_ID', 'SECRET_ACCESS_KEY', 'SESSION_TOKEN'])
    others.add(`AWS_${name}`)
  /** Variables of the C library. */
  others.add('MALLOC_ARENA_MAX')
  /** Variables of the tests. */
  for (const name of ['FAST_CHECK_SEED', 'FREQTRADE_SOURCE']) others.add(name)
  const errors: Readonly<Record<string, ErrorDefinition>> = ERRORS
  const ofOAuth = new Set<string>([...OAUTH_CODES, 'invalid_token', 'insufficient_scope'])
  const exitCodes = new Set([0, ...Object.values(errors).map(({ exitCode }) => exitCode)])

  test.each(pages)('of settings in $name exist', ({ spans }) => {
    const named = spans
      .filter((span) => /^[A-Z][A-Z0-9_]*(=.*)?$/.test(span))
      .map((span) => span.split('=')[0])
    const unknown = named.filter((name = '') => !settings.has(name) && !values.has(name) && !others.has(name))
    expect(unknown).toEqual([])
  })

  test.each(pages)('of flags in $name exist', ({ spans, blocks }) => {
    const commands = blocks
      .flatMap(({ text }) => text.split('\n'))
      .filter((line) => line.includes('npm start -- '))
      .map((line) => line.slice(line.indexOf('npm start -- ')))
    const inText = spans.filter((span) => span.startsWith('--') || span.startsWith('npm start -- '))
    const flagsIn = (texts: readonly string[]): string[] =>
      texts.flatMap((text) => text.match(/(?<=^|\s)--[a-z][a-z0-9-]*/g) ?? [])
    const unknown = [
      ...flagsIn(inText).filter(
        (flag) => !flags.has(flag) && !ofCommands.includes(flag) && !ofTools.includes(flag),
      ),
      ...flagsIn(commands).filter((flag) => !flags.has(flag)),
    ]
    expect(unknown).toEqual([])
  })

  test.each(pages)(
    'of commands in $name exist, and take the flags they are shown with',
    ({ spans, blocks }) => {
      const lines = [...spans, ...blocks.flatMap(({ text }) => text.split('\n'))].flatMap((line) =>
        [...line.matchAll(/(?:^|\s)npm run -s signal -- ([^|>#]*)/g)].map((match) => match[1] ?? ''),
      )
      for (const line of lines) {
        const words = shellWords(line)
        const [name = ''] = words
        if (name === 'help' || name.startsWith('<') || name === '…') continue
        const found = findCommand(COMMANDS, words)
        if (found === undefined) expect.fail(`${line} names no command`)
        expect(() => readCommandLine(found.command, found.args, {}), line).not.toThrow()
      }
    },
  )

  test.each(pages)('of errors in $name exist', ({ rows, text }) => {
    const inTables = rows.flatMap(({ code = '', error = '' }) => [...spansOf(code), ...spansOf(error)])
    const inOutput = [/^error (\w+):/gm, /\bcode="(\w+)"/g, /"code":"(\w+)"/g].flatMap((pattern) =>
      [...text.matchAll(pattern)].map((match) => match[1] ?? ''),
    )
    const unknown = [...inTables, ...inOutput].filter(
      (code) => errors[code] === undefined && !ofOAuth.has(code),
    )
    expect(unknown).toEqual([])
  })

  test.each(pages)('of exit codes in $name exist', ({ text }) => {
    const named = [...text.matchAll(/\bexit code (\d+)/gi)].map((match) => Number(match[1]))
    expect(named.filter((code) => !exitCodes.has(code))).toEqual([])
  })

  test.each(pages)('of errors in $name stand beside their own status and exit code', ({ rows }) => {
    const wrong = rows.filter(({ code = '', error = '', status, 'exit code': exitCode }) =>
      [...spansOf(code), ...spansOf(error)].some(
        (name) =>
          (status !== undefined && Number(status) !== errors[name]?.status) ||
          (exitCode !== undefined && exitCode !== String(errors[name]?.exitCode ?? '')),
      ),
    )
    expect(wrong).toEqual([])
  })
})

const DOCUMENTED_ADDRESS = 'http://127.0.0.1:8402'
const OPERATOR_TOKEN = 'operator-token-for-tests'
const run = promisify(execFile)

const requests = pages.flatMap(({ name, blocks }) =>
  blocks
    .filter(({ language, text }) => language === 'bash' && text.startsWith('curl '))
    .map(({ text }) => ({ name, text, first: text.split('\n')[0] })),
)
const absent = ['bash', 'curl'].filter((tool) => spawnSync(tool, ['--version']).error !== undefined)
const reason = absent.length === 0 ? '' : ` (skipped: ${absent.join(' and ')} not on PATH)`

describe.skipIf(reason !== '')(`requests${reason}`, () => {
  let folder: string
  let service: RunningService | undefined

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'docs-'))
    // What keeps the commands as they are written: an answer from 400 on makes curl fail.
    writeFileSync(join(folder, '.curlrc'), 'fail-with-body\n')
    const flags = [
      '--port',
      '0',
      '--data-dir',
      join(folder, 'data'),
      '--console',
      'off',
      '--log-level',
      'error',
    ]
    const environment = { FRESH: 'true', OPERATOR_TOKEN, COINS: 'BTC,ETH', TIMEFRAMES: '1m,1h' }
    service = await startService(readSettings(flags, environment), process.stdout)
  })
  afterAll(async () => {
    await service?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  test('of all fields of a replayed row are documented', () => {
    const page = readFileSync(join(DOCS, 'replay.md'), 'utf8')
    const fields = Object.keys(verdictRowSchema.shape)
    expect(fields.filter((field) => !page.includes(`\`${field}\``))).toEqual([])
  })

  test('are documented', () => {
    expect(requests.length).toBeGreaterThan(2)
  })

  test.each(requests)('of $name are answered: $first', async ({ text }) => {
    const url = service?.url ?? expect.fail('The service has no address.')
    const script = text.replaceAll(DOCUMENTED_ADDRESS, url)
    expect(script).toContain(url)
    const environment = { PATH: process.env.PATH, CURL_HOME: folder, OPERATOR_TOKEN }
    await run('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: folder,
      env: environment,
      maxBuffer: 4 * 2 ** 20,
    })
  })
})
